"""What one querying party of a simulation asked, was told, and made of it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from client.answers import label_matrix
from client.labelling import LabelResult
from client.retraining import StudentResult
from client.state import load_state
from client.students.metrics import Metrics
from common.errors import ErrorCode, OstrakaError
from common.task import Task


@dataclass(frozen=True)
class Asked:
    """A querying party's labels, and its student on test records.

    Attributes:
        site: who asked.
        labelled: records it has labels of by itself.
        queries: how many it wanted answered; `asked` and `answered` how many were, `by_student` how many of
            the others its student labelled.
        ended_early: whether a limit kept it from asking more.
        released: of every record of its pool the class, int64 (records,), or 1 and 0 for every label
            (records, labels); -1 where there is none. `truth` is what would have been right.
        before: figures of its student of own labels alone; `after` with those that it was told.
    """

    site: str
    labelled: int
    queries: int
    asked: int
    answered: int
    by_student: int
    ended_early: bool
    released: NDArray[np.int64] = field(repr=False)
    truth: NDArray[np.int64] = field(repr=False)
    before: Metrics
    after: Metrics


def asked_of(
    site: str,
    labelling: LabelResult,
    students: StudentResult,
    released: NDArray[np.int64],
    truth: NDArray[np.int64],
) -> Asked:
    """What a run and a retraining on it came to."""
    return Asked(
        site=site,
        labelled=students.labelled,
        queries=labelling.queries,
        asked=labelling.asked,
        answered=labelling.answered,
        by_student=labelling.by_student,
        ended_early=labelling.stopped is not None,
        released=released,
        truth=truth,
        before=_measured(students.before),
        after=_measured(students.after),
    )


def released_labels(run: Path, queries: int, task: Task) -> NDArray[np.int64]:
    """Released classes (queries,), or bits (queries, labels), -1 where there is none."""
    answers = load_state(run).answers()
    if task.multi_label:
        return label_matrix([answers.get(query) for query in range(queries)], len(task.classes))
    labels: list[Any] = [answers.get(query) for query in range(queries)]
    return np.array([-1 if label is None else label for label in labels], np.int64)


def require_answers(labelling: LabelResult) -> None:
    """Raise why a run was stopped if it was before its first query."""
    if labelling.stopped is not None and labelling.asked == 0:
        raise OstrakaError(ErrorCode(labelling.stopped.code), labelling.stopped.message)


def _measured(metrics: Metrics | None) -> Metrics:
    assert metrics is not None  # noqa: S101 - there are test records
    return metrics
