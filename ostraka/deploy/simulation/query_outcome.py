"""Result of one querying party of a simulation: its queries, answers and student."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.client.dependencies.several_runs import PartedResult
from ostraka.client.run.combined import combined_answers, is_combined
from ostraka.client.run.labelling import LabelResult
from ostraka.client.session.answers import label_matrix
from ostraka.client.session.run_state import load_state
from ostraka.client.students.accuracy import Metrics
from ostraka.client.students.dp_sgd.guarantee import DpSgdGuarantee
from ostraka.client.students.gain import Gain
from ostraka.client.students.student_result import StudentResult
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import Task


@dataclass(frozen=True)
class QueryOutcome:
    """A querying party's labels, and its student on test records.

    Attributes:
        site: who asked.
        labelled: records it has labels of by itself.
        queries: how many it wanted answered; `asked` and `answered` how many were, `by_student` how many of
            the others its student labelled. `implied` labels were not asked because others imply them.
        ended_early: whether a limit kept it from asking more.
        released: of every record of its pool the class, int64 (records,), or 1 and 0 for every label
            (records, labels); -1 where there is none. `truth` is what would have been right.
        before: figures of its student of own labels alone; `after` with those that it was told, and `gain`
            how much better that is. `guarantee` is what this promises where it learned by DP-SGD.
    """

    site: str
    labelled: int
    queries: int
    asked: int
    answered: int
    by_student: int
    implied: int
    ended_early: bool
    released: NDArray[np.int64] = field(repr=False)
    truth: NDArray[np.int64] = field(repr=False)
    before: Metrics
    after: Metrics
    gain: Gain | None
    guarantee: DpSgdGuarantee | None


def outcome_of(
    site: str,
    labelling: LabelResult,
    students: StudentResult,
    released: NDArray[np.int64],
    truth: NDArray[np.int64],
) -> QueryOutcome:
    """Return the results of a run and of a retraining on it."""
    return QueryOutcome(
        site=site,
        labelled=students.labelled,
        queries=labelling.queries,
        asked=labelling.asked,
        answered=labelling.answered,
        by_student=labelling.by_student,
        implied=labelling.implied if isinstance(labelling, PartedResult) else 0,
        ended_early=labelling.stopped is not None,
        released=released,
        truth=truth,
        before=_measured(students.before),
        after=_measured(students.after),
        gain=students.gain,
        guarantee=students.guarantee,
    )


def released_labels(run: Path, records: int, task: Task) -> NDArray[np.int64]:
    """Released classes of a pool (records,), or bits (records, labels), -1 where there is none."""
    answers = combined_answers(run).answers if is_combined(run) else load_state(run).answers()
    labels: list[Any] = [answers.get(row) for row in range(records)]
    if task.multi_label:
        return label_matrix(labels, len(task.classes))
    return np.array([-1 if label is None else label for label in labels], np.int64)


def require_answers(labelling: LabelResult) -> None:
    """Raise why a run was stopped if it was before its first query."""
    if labelling.stopped is not None and labelling.asked == 0:
        raise OstrakaError(ErrorCode(labelling.stopped.code), labelling.stopped.message)


def _measured(figures: Metrics | None) -> Metrics:
    assert figures is not None  # noqa: S101 - there are test records
    return figures
