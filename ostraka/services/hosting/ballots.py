"""Ballots of a batch: the votes of a party's teachers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sharing.ballots import BallotFormat
from ostraka.common.task import Task
from ostraka.services.admission.manifest_terms import ScheduledTeachers
from ostraka.services.hosting.prediction_thread import MICRO_BATCH, Predictor
from ostraka.services.teachers.manifest import TeacherCohort

WORK_BYTES = 2**26
"""Approximate memory for counting at a time."""

_VOTE_BYTES = 32
"""Memory per teacher's vote on one label, including counting."""
_NUMBER_BYTES = 8


@dataclass(frozen=True)
class Teachers:
    """The models that vote.

    Attributes:
        ensemble: all models.
        count: number of models.
        task: the task that they were trained for.
        at_once: maximum number of queries per prediction.
    """

    ensemble: Predictor
    count: int
    task: Task
    at_once: int = MICRO_BATCH

    def ballots(
        self,
        X: NDArray[np.float32],
        scheduled: Sequence[ScheduledTeachers],
        ballot: BallotFormat,
        labels: Sequence[int] = (),
    ) -> NDArray[np.float64]:
        """Return exact ballots in votes, (queries, width): the weighted votes of the scheduled teachers.

        Teachers only see queries that they are scheduled for. Votes on other labels than the chosen `labels`
        are dropped before anything is counted or clipped; empty: every label counts.
        """
        classes = len(labels or self.task.classes)
        width = ballot.width(classes)
        counted = np.zeros((len(X), width))
        for teachers in scheduled:
            # Models only see queries that they vote on.
            queries = np.flatnonzero(teachers.scheduled)
            size = self._size(width)
            for start in range(0, len(queries), size):
                part = queries[start : start + size]
                votes = self._votes(X[part], teachers.rows)
                votes = votes[..., list(labels)] if labels else votes
                counted[part] += ballot.count(votes, classes, teachers.weight)
        return counted

    def vote_on_zeros(self, cohorts: Iterable[TeacherCohort], records: int = 1) -> None:
        """Let all teachers vote on records of zeros; raises their errors."""
        X = np.zeros((records, len(self.task.features)), np.float32)
        for cohort in cohorts:
            self._votes(X, cohort.rows)

    @property
    def _answers(self) -> tuple[int, ...]:
        """Shape of one teacher's vote on one query."""
        return (len(self.task.classes),) if self.task.multi_label else ()

    def _size(self, width: int) -> int:
        """Return the number of queries to vote on together that keeps counting near `WORK_BYTES`."""
        votes = self.count * int(np.prod(self._answers))
        return min(self.at_once, 1 + WORK_BYTES // (votes * _VOTE_BYTES + 4 * width * _NUMBER_BYTES))

    def _votes(self, X: NDArray[np.float32], rows: slice) -> NDArray[Any]:
        votes = self.ensemble.predict(X, rows)
        teachers = len(range(self.count)[rows])
        if votes.shape != (teachers, len(X), *self._answers):
            raise OstrakaError(
                ErrorCode.MODEL_INVALID,
                f"The teachers gave votes of shape {votes.shape} for {len(X)} queries and {teachers} "
                "teachers: train them again with this version.",
            )
        return votes
