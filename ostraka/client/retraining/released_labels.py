"""Labels that runs released for a pool, read from their folders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

from ostraka.client.run.combined import combined_answers, is_combined, uses_dependencies
from ostraka.client.run.rounds_state import RoundState, is_rounds, load_rounds, queried_folders
from ostraka.client.run.run_folder import pool_digest
from ostraka.client.session.answers import Answer, label_matrix
from ostraka.client.session.run_state import RunState, load_state
from ostraka.client.students.evaluation import Features, Labels
from ostraka.client.students.released import ReleasedLabels
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Mechanism
from ostraka.common.task import Source, Task

Known: TypeAlias = Mapping[int, Answer]
"""Labels by row of a pool."""


@dataclass(frozen=True)
class Given:
    """Labels of one pool by row.

    Attributes:
        answers: what was released, `error` how often that is wrong as far as its mechanism tells.
        own: what a student said itself where nothing was released.
        independent: as `ReleasedLabels.independent`.
    """

    answers: Known = field(repr=False)
    own: Mapping[int, int] = field(repr=False)
    error: float
    independent: bool


def read_released(task: Task, run: Path, pool: Source) -> ReleasedLabels:
    """Return what the run, or the runs, in a folder released of a pool, and what a student said itself.

    Raises `data.*` and `task.mismatch` for a pool that does not fit the task, `run.mismatch` where it is not
    the run's, the run was made by another task, or has labels of queries that its pool has not;
    `data.too_few` where it gave no label.
    """
    features = task.prepare(task.records(pool).X)
    released = collect(task, features, read_given(task, run, features))
    if not len(released.rows):
        raise OstrakaError(
            ErrorCode.DATA_TOO_FEW,
            f"{run} gave no label to learn from: label more of the pool, or with a lower threshold.",
        )
    return released


def read_given(task: Task, run: Path, features: Features) -> list[Given]:
    """Return the labels of a pool that a folder holds, by run; raise `run.mismatch` as `read_released`."""
    if not is_rounds(run):
        return [_read_run(task, run, features)]
    rounds = load_rounds(run)
    _check_pool(run, rounds.pool_size, rounds.pool_sha256, features)
    asked = zip(queried_folders(run, rounds), rounds.rounds, strict=False)
    return [_read_round(task, folder, one, features) for folder, one in asked]


def _read_round(task: Task, folder: Path, one: RoundState, features: Features) -> Given:
    """Return what a round about some rows of a pool gave."""
    given = _read_run(task, folder, features[list(one.rows)])
    answers = {one.rows[query]: answer for query, answer in given.answers.items()}
    own = {one.rows[query]: label for query, label in given.own.items()}
    return Given(answers, own, given.error, independent=False)


def _read_run(task: Task, run: Path, features: Features) -> Given:
    if is_combined(run):
        combined = combined_answers(run)
        states: Sequence[RunState] = list(combined.parts.values())
        answers, own = combined.answers, dict[int, int]()
    else:
        states = [load_state(run)]
        answers, own = states[0].answers(), states[0].by_student()
    _check_pool(run, states[0].pool_size, states[0].pool_sha256, features)
    _check_labels(run, states[0], answers, task)
    independent = not uses_dependencies(run) and _by_itself(states[0].parsed_plan().mechanism)
    return Given(answers, own, max(map(_error, states)), independent)


def collect(task: Task, features: Features, given: Sequence[Given]) -> ReleasedLabels:
    """All labels of a pool, of which each row has at most one."""
    labels: dict[int, Answer] = {}
    errors: dict[int, float] = {}
    for one in given:
        answered = {row: answer for row, answer in one.answers.items() if answer is not None}
        labels.update(answered)
        labels.update(one.own)
        errors |= dict.fromkeys(answered, one.error) | dict.fromkeys(one.own, 0.0)
    y = _targets(task, list(labels.values()))
    error = np.array([errors[row] for row in labels], np.float32)
    return ReleasedLabels(
        features=features,
        rows=np.array(list(labels), np.int64),
        y=y,
        error=np.repeat(error[:, None], y.shape[1], axis=1) if task.multi_label else error,
        independent=all(one.independent for one in given),
    )


def _by_itself(mechanism: Mechanism) -> bool:
    """Whether a query's answer depends on no student of own records and on no other query."""
    return not mechanism.takes_scores and mechanism.party_setting != "label_counts"


def _error(state: RunState) -> float:
    plan = state.parsed_plan()
    return plan.mechanism.known_error(sum(party.teachers for party in state.parties), plan.classes)


def _check_pool(run: Path, size: int, sha256: str, features: Features) -> None:
    """Raise `run.mismatch` unless a run's pool has these features."""
    if size != len(features):
        raise _mismatch(run, f"labelled a pool of {size} records and this one has {len(features)}")
    if sha256 != pool_digest(features):
        raise _mismatch(run, "labelled another pool")


def _check_labels(run: Path, state: RunState, answers: Known, task: Task) -> None:
    """Raise `run.mismatch` unless a run's labels are of this task and of queries that exist."""
    if state.parsed_plan().task_digest != task.digest:
        raise _mismatch(run, "was made by another task")
    if not answers.keys() <= set(range(state.pool_size)):
        raise _mismatch(run, "has labels for queries that its pool does not have")
    if not all(_fits(answer, task) for answer in answers.values()):
        raise _mismatch(run, "has labels that its task does not have")


def _targets(task: Task, labels: Sequence[Answer]) -> Labels:
    return label_matrix(labels, len(task.classes)) if task.multi_label else np.array(labels, np.int64)


def _fits(answer: Answer, task: Task) -> bool:
    classes = len(task.classes)
    if answer is None:
        return True
    if isinstance(answer, tuple):
        return task.multi_label and len(answer) == classes and set(answer) <= {0, 1, None}
    return not task.multi_label and 0 <= answer < classes


def _mismatch(run: Path, what: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.RUN_MISMATCH, f"{run} {what}: name the pool and task that it was made with."
    )
