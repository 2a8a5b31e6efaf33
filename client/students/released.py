"""What runs released of a pool, as a student learns from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from client.answers import Answer, label_matrix
from client.run_folder import pool_digest
from client.state import load_state
from client.students.evaluation import Features, Labels
from common.errors import ErrorCode, OstrakaError
from common.task import Task

Known: TypeAlias = Mapping[int, Answer]
"""Labels by row of a pool."""


@dataclass(frozen=True)
class Released:
    """A pool and the labels that some of its records got.

    Attributes:
        features: of the whole pool, prepared, float32 (N, F).
        rows: of the pool that have a label, int64 (n,).
        y: their labels: class indices, int64 (n,); or 1, 0 or UNKNOWN for every label, (n, labels).
        error: probability that a label is wrong as far as is public, float32 of y's shape; None: unknown.
    """

    features: Features = field(repr=False)
    rows: NDArray[np.int64] = field(repr=False)
    y: Labels = field(repr=False)
    error: NDArray[np.float32] | None = field(default=None, repr=False)

    @property
    def X(self) -> Features:  # noqa: N802
        """Features of the records that have a label, float32 (n, F)."""
        return self.features[self.rows]

    @property
    def unlabeled(self) -> Features:
        """Features of the rest of the pool, what the mechanism did not answer included."""
        rest = np.ones(len(self.features), np.bool_)
        rest[self.rows] = False
        return self.features[rest]


def read_released(task: Task, run: Path, pool: Path) -> Released:
    """What the run in a folder released of a pool, with what an Interactive run's student said itself.

    Raises `data.*` and `task.mismatch` for a pool that does not fit the task, `run.mismatch` where it is not
    the run's, the run was made by another task, or has labels of queries that its pool has not;
    `data.too_few` where it gave no label.
    """
    features = task.prepare(task.load(pool).X)
    state = load_state(run)
    check_pool(run, state.pool_size, state.pool_sha256, features)
    check_labels(run, state.parsed_plan().task_digest, state.answers(), task, len(features))
    released = collect(task, features, state.answers(), state.by_student())
    if not len(released.rows):
        raise OstrakaError(
            ErrorCode.DATA_TOO_FEW,
            f"{run} gave no label to learn from: label more of the pool, or with a lower threshold.",
        )
    return released


def check_pool(run: Path, size: int, sha256: str, features: Features) -> None:
    """Raises `run.mismatch` unless a run's pool has these prepared features."""
    if size != len(features):
        raise _mismatch(run, f"labelled a pool of {size} records and this one has {len(features)}")
    if sha256 != pool_digest(features):
        raise _mismatch(run, "labelled another pool")


def check_labels(run: Path, task_digest: bytes, answers: Known, task: Task, size: int) -> None:
    """Raises `run.mismatch` unless a run's answers are of this task and of queries that its pool has."""
    if task_digest != task.digest:
        raise _mismatch(run, "was made by another task")
    if not answers.keys() <= set(range(size)):
        raise _mismatch(run, "has labels for queries that its pool does not have")
    if not all(_fits(answer, task) for answer in answers.values()):
        raise _mismatch(run, "has labels that its task does not have")


def collect(task: Task, features: Features, answers: Known, own: Mapping[int, int]) -> Released:
    """The labels that answers give, and beside them what a student said itself."""
    given = {row: answer for row, answer in answers.items() if answer is not None}
    labels: dict[int, Answer] = {**given, **own}
    return Released(
        features=features,
        rows=np.array(list(labels), np.int64),
        y=_targets(task, list(labels.values())),
    )


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
