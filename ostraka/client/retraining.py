"""Retraining: a student on own labels alone, and one on released labels as well."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ostraka.client.run.combined import is_combined, load_combined, uses_dependencies
from ostraka.client.run.pool import pool_digest
from ostraka.client.run.reading import tell_reading
from ostraka.client.run.rounds_state import RoundState, is_rounds, load_rounds, round_folders
from ostraka.client.run.run_folder import hold_folder
from ostraka.client.run.site import load_class_task, load_query_site
from ostraka.client.session.answers import Answer, label_matrix
from ostraka.client.session.run_state import RunState, load_state
from ostraka.client.students.evaluation import (
    Features,
    Measured,
    Records,
    Trainer,
    cross_validate,
    test_student,
)
from ostraka.client.students.models import is_learnable, train_constant
from ostraka.client.students.student_result import STUDENT_FILE, StudentResult, as_json
from ostraka.client.students.trainers import Choice, Progress, ReleasedLabels, trainer
from ostraka.common.datasets import Dataset
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import write_atomic
from ostraka.common.mechanism import Mechanism
from ostraka.common.task import Source, Task
from ostraka.common.task.checks import require_labels

Known: TypeAlias = Mapping[int, Answer]
"""Labels by row of a pool."""


@dataclass(frozen=True)
class Given:
    """Labels of one pool by row.

    Attributes:
        answers: the released labels.
        own: a student's own labels where nothing was released.
        error: how often a released label is wrong, as far as its mechanism determines it.
        independent: as `ReleasedLabels.independent`.
    """

    answers: Known = field(repr=False)
    own: Mapping[int, int] = field(repr=False)
    error: float
    independent: bool


def read_released(task: Task, run: Path, pool: Source) -> ReleasedLabels:
    """Return the released labels of a pool from the run or runs in a folder, and a student's own labels.

    Raises `data.*` and `task.mismatch` for a pool that does not fit the task; `run.mismatch` if it is not the
    run's pool, or the run has another task or labels for queries that its pool does not have; `data.too_few`
    if there are no labels.
    """
    features = task.prepare(task.pool(pool).X)
    released = collect(task, features, read_given(task, run, features))
    if not len(released.rows):
        raise OstrakaError(
            ErrorCode.DATA_TOO_FEW,
            f"{run} released no label to learn from: label more of the pool, or lower the threshold.",
        )
    return released


def read_given(task: Task, run: Path, features: Features) -> list[Given]:
    """Return the labels of a pool in a folder, by run; raise `run.mismatch` as `read_released`."""
    if not is_rounds(run):
        return [_read_run(task, run, features)]
    rounds = load_rounds(run)
    _check_pool(run, rounds.pool_size, rounds.pool_sha256, features)
    asked = zip(round_folders(run, rounds), rounds.rounds, strict=False)
    return [_read_round(task, folder, one, features) for folder, one in asked]


def _read_round(task: Task, folder: Path, one: RoundState, features: Features) -> Given:
    """Return the labels of a round about some rows of a pool."""
    given = _read_run(task, folder, features[list(one.rows)])
    answers = {one.rows[query]: answer for query, answer in given.answers.items()}
    own = {one.rows[query]: label for query, label in given.own.items()}
    return Given(answers, own, given.error, independent=False)


def _read_run(task: Task, run: Path, features: Features) -> Given:
    if is_combined(run):
        combined = load_combined(run)
        states: Sequence[RunState] = list(combined.parts.values())
        answers = combined.answers
        own = dict[int, int]()
    else:
        states = [load_state(run)]
        answers = states[0].answers()
        own = states[0].by_student()
    _check_pool(run, states[0].pool_size, states[0].pool_sha256, features)
    _check_labels(run, states[0], answers, task)
    # An answer that equal records share depends on the first of them.
    repeated = any(state.copies for state in states)
    by_itself = _by_itself(states[0].parse_plan().mechanism)
    independent = by_itself and not repeated and not uses_dependencies(run)
    return Given(answers, own, max(map(_error, states)), independent)


def collect(task: Task, features: Features, given: Sequence[Given]) -> ReleasedLabels:
    """Combine all labels of a pool; each row has at most one."""
    labels: dict[int, Answer] = {}
    errors: dict[int, float] = {}
    for one in given:
        answered = {row: answer for row, answer in one.answers.items() if answer is not None}
        labels.update(answered)
        labels.update(one.own)
        errors |= dict.fromkeys(answered, one.error) | dict.fromkeys(one.own, 0.0)
    answers = list(labels.values())
    y = label_matrix(answers, len(task.classes)) if task.multi_label else np.array(answers, np.int64)
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
    plan = state.parse_plan()
    return plan.mechanism.known_error(sum(party.teachers for party in state.parties), plan.classes)


def _check_pool(run: Path, size: int, sha256: str, features: Features) -> None:
    """Raise `run.mismatch` unless a run's pool has these features."""
    if size != len(features):
        raise _mismatch(run, f"labelled a pool of {size} records and this one has {len(features)}")
    if sha256 != pool_digest(features):
        raise _mismatch(run, "labelled another pool")


def _check_labels(run: Path, state: RunState, answers: Known, task: Task) -> None:
    """Raise `run.mismatch` unless a run's labels are of this task and of queries that exist."""
    if state.parse_plan().task_digest != task.digest:
        raise _mismatch(run, "was made by another task")
    if not answers.keys() <= set(range(state.pool_size)):
        raise _mismatch(run, "has labels for queries that its pool does not have")
    if not all(_fits(answer, task) for answer in answers.values()):
        raise _mismatch(run, "has labels that its task does not have")


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


BY_TEST = "test records"
BY_FOLDS = "cross-validation on own records"
UNMEASURED = "records: none given"


def retrain(
    site_folder: Path,
    labelled: Source | None,
    run_folder: Path | None = None,
    pool: Source | None = None,
    *,
    test: Source | None = None,
    choice: Choice | None = None,
    out: Path | None = None,
    task_file: Path | None = None,
    seed: int = 0,
    progress: Progress = lambda name, done, total: None,
) -> StudentResult:
    """Train both students, save the second (RUN/student.skops or .safetensors) and write RUN/student.json.

    Without a run and its pool, there are only own labels: both students are the same, saved to `out`. Without
    own labels, there is no student to compare with.

    Raises `task.mismatch`, `data.*` for files that do not fit and for labels that are all equal;
    `run.mismatch` if `pool` is not the run's or another process uses its folder; `config.invalid` for a run
    without its pool, neither run nor `out`, or no labels; `model.invalid` for a factory's estimator that is
    not allowed; and `model.diverged`. Nothing is written before both students are trained.
    """
    load_query_site(site_folder)
    task = load_class_task("a student", site_folder, task_file)
    choice = (choice or Choice()).resolve(task)
    if choice.second is not None and run_folder is None:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            "A second student learns what the first says of a pool: give --run and --pool.",
        )
    files = {
        name: None if source is None else load_labelled(task, source)
        for name, source in (("Own records", labelled), ("Test records", test))
    }
    own, tested = (None if data is None else prepare_labelled(task, data) for data in files.values())
    path = _path(out, run_folder, choice)
    with _hold_if_run(run_folder):
        released = _read_if_run(task, run_folder, pool)
        # Both are trained before anything is written, so a failure does not damage the last student.
        training = StudentTraining(task, choice, own, tested, seed, progress)
        trained = training.train_on_all(released)
        before = training.measure_alone()
        result = replace(training.keep(trained, before, path), reading=tell_reading(files))
        if run_folder is not None:
            write_atomic(run_folder / STUDENT_FILE, json.dumps(as_json(result), indent=1))
    return result


@dataclass(frozen=True)
class Trained:
    """A student of all labels, the released labels that it learned from, and its evaluation."""

    student: Any
    released: ReleasedLabels | None
    after: Measured | None


@dataclass(frozen=True)
class StudentTraining:
    """Training and evaluation of students, for any released labels.

    Attributes:
        task: of all records.
        choice: the student and its training.
        own: own labelled records, if any.
        tested: the records that students are measured on, if any.
        seed: of the training.
        progress: called with the progress.
    """

    task: Task
    choice: Choice
    own: Records | None
    tested: Records | None
    seed: int
    progress: Progress = lambda name, done, total: None

    def train_on_all(self, released: ReleasedLabels | None) -> Trained:
        """Train the student on all labels and measure it; raise `config.invalid` if there are no labels."""
        if self.own is None and released is None:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                "There are no labels to learn from: give --labelled, or --run and --pool, or all three.",
            )
        full = self._trainer(released)
        student = full(self.own, "all")
        after: Measured | None = None
        if self.tested is not None:
            after = test_student(student, self.tested, self.task.classes)
        elif self.own is not None:
            after = cross_validate(full, self.own, self.task.classes, "all")
        return Trained(student, released, after)

    def measure_alone(self) -> Measured | None:
        """Measure the student of own labels alone; None if there are none or nothing can be held back.

        If own labels are all equal, the student always predicts that label.
        """
        if self.own is None:
            return None
        alone = self._trainer(None)
        if self.tested is None:
            return cross_validate(alone, self.own, self.task.classes, "own")
        student = alone(self.own, "own") if is_learnable(self.own[1]) else train_constant(*self.own)
        return test_student(student, self.tested, self.task.classes)

    def keep(self, trained: Trained, before: Measured | None, path: Path) -> StudentResult:
        """Save a trained student, and report it with the student of own labels alone."""
        from ostraka.client.students.files import save_student

        save_student(trained.student, path)
        measured = self.tested or self.own
        return StudentResult(
            student=self.choice.name,
            model=self.choice.last.kind,
            path=path,
            labelled=0 if self.own is None else len(self.own[1]),
            released=0 if trained.released is None else len(trained.released.rows),
            pool_sha256="" if trained.released is None else pool_digest(trained.released.features),
            measured_on=BY_TEST if self.tested else BY_FOLDS if self.own else UNMEASURED,
            measured=0 if measured is None else len(measured[1]),
            before=None if before is None else before.metrics,
            after=None if trained.after is None else trained.after.metrics,
            gain=None if trained.after is None else trained.after.gain_over(before),
            guarantee=getattr(trained.student, "guarantee_", None),
        )

    def _trainer(self, released: ReleasedLabels | None) -> Trainer:
        return trainer(self.choice, self.task, released, seed=self.seed, progress=self.progress)


def load_labelled(task: Task, source: Source) -> Dataset:
    """Load records, all of which must have their labels."""
    data = task.records(source)
    require_labels(task.labels, data, source)
    return data


def prepare_labelled(task: Task, data: Dataset) -> Records:
    """Return the prepared features, and the labels, of labelled records."""
    return task.prepare(data.X), data.labels()


def _path(out: Path | None, run: Path | None, choice: Choice) -> Path:
    if out is None and run is None:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, "Without --run, name the model file as --out.")
    return out or (run or Path()) / choice.file


@contextmanager
def _hold_if_run(folder: Path | None) -> Iterator[None]:
    """Lock a run's folder against other processes; do nothing without one, which an error reports later."""
    if folder is None or not folder.is_dir():
        yield
        return
    with hold_folder(folder):
        yield


def _read_if_run(task: Task, run: Path | None, pool: Source | None) -> ReleasedLabels | None:
    """Return the labels of a run for its pool; None without a run."""
    if (run is None) != (pool is None):
        raise OstrakaError(ErrorCode.CONFIG_INVALID, "A run needs its pool: give both --run and --pool.")
    return None if run is None or pool is None else read_released(task, run, pool)
