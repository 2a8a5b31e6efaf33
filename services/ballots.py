"""What a party counts for a batch: its teachers' votes, or its own labelled records by nearest cluster."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from common.errors import ErrorCode, OstrakaError
from common.mechanism import AnyMechanism
from common.sharing.ballots import ballots
from common.task import Task
from services.hosting.device import MICRO_BATCH, Predictor
from services.teachers.groups import GROUP
from services.teachers.manifest import TeachersManifest

WORK_BYTES = 2**26
"""Memory that counting takes at a time, about."""

_VOTE_BYTES = 32
"""Of one teacher's vote on one label, with what counting it needs besides."""
_NUMBER_BYTES = 8


@dataclass(frozen=True)
class Turn:
    """Teachers that vote together, on which queries, and what their votes weigh.

    Attributes:
        rows: the teachers, of all that a party has.
        scheduled: whether they vote on a query, (Q,).
        weight: of each of their votes, in steps of 2^-16 vote.
    """

    rows: slice
    scheduled: NDArray[np.bool_]
    weight: int


@dataclass(frozen=True)
class Teachers:
    """The models that vote.

    Attributes:
        ensemble: all of them.
        count: how many they are.
        task: that they were trained for.
        at_once: queries that they are asked about together, at most.
    """

    ensemble: Predictor
    count: int
    task: Task
    at_once: int = MICRO_BATCH

    def ballots(
        self,
        X: NDArray[np.float32],
        turns: Sequence[Turn],
        mechanism: AnyMechanism,
        labels: Sequence[int] = (),
    ) -> NDArray[np.float64]:
        """Ballots in votes, (queries, width), exact: the weighted votes of all turns scheduled for a query.

        No teacher is asked about a query that it is not scheduled for. Votes on other labels than the chosen
        `labels` are dropped before anything is counted or clipped; none: every label counts.
        """
        classes = len(labels or self.task.classes)
        width = mechanism.width(classes)
        counted = np.zeros((len(X), width))
        for turn in turns:
            queries, size = np.flatnonzero(turn.scheduled), self._size(width)
            for start in range(0, len(queries), size):
                part = queries[start : start + size]
                votes = self._votes(X[part], turn.rows)
                votes = votes[..., list(labels)] if labels else votes
                counted[part] += ballots(votes, mechanism, classes, turn.weight)
        return counted

    @property
    def _answers(self) -> tuple[int, ...]:
        """Shape of one teacher's vote on one query."""
        return (len(self.task.classes),) if self.task.multi_label else ()

    def _size(self, width: int) -> int:
        """Queries to vote on together, so that counting them stays near `WORK_BYTES`."""
        votes = self.count * int(np.prod(self._answers))
        return min(self.at_once, 1 + WORK_BYTES // (votes * _VOTE_BYTES + 4 * width * _NUMBER_BYTES))

    def _votes(self, X: NDArray[np.float32], rows: slice) -> NDArray[Any]:
        votes, teachers = self.ensemble.predict(X, rows), len(range(self.count)[rows])
        if votes.shape != (teachers, len(X), *self._answers):
            raise OstrakaError(
                ErrorCode.MODEL_INVALID,
                f"The teachers gave votes of shape {votes.shape} for {len(X)} queries and {teachers} "
                "teachers: train them again with this version.",
            )
        return votes


@dataclass(frozen=True)
class Records:
    """Labelled records that vote themselves: each counts once, for its class, at its nearest cluster.

    Attributes:
        X: float32, shape (N, F), as `Task.prepare` gives them.
        y: int64 class indices, shape (N,).
        cliques: each record's, int64, shape (N,): those of a clique vote on the same queries.
        classes: number of classes.
    """

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    cliques: NDArray[np.int64]
    classes: int

    @classmethod
    def load(cls, path: Path, task: Task, manifest: TeachersManifest) -> "Records":
        """The records that a party's teachers were trained on.

        Raises `data.*` or `task.mismatch` as `Task.load`, and `config.invalid` for a multi-label task or for
        other records than the guardian is told of.
        """
        if task.multi_label:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                f"policy.label_counts is for single-label tasks and '{task.name}' is multi-label: "
                "set it to false in site.toml.",
            )
        data = task.load(path)
        declared = {group.name: group.records for group in manifest.groups}
        levels = (GROUP,) * len(data) if list(declared) == [GROUP] else data.consent or ()
        if Counter(levels) != declared:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                f"{path} has {len(data)} records and the teachers were trained on {manifest.records}, or "
                "levels of consent differ: name the same records in training.data of site.toml, or run "
                "`ostraka party train` again.",
            )
        place = {group: i for i, clique in enumerate(manifest.cliques) for group in clique.groups}
        cliques = np.array([place[level] for level in levels], dtype=np.int64)
        return cls(task.prepare(data.X), data.labels(), cliques, len(task.classes))

    def ballots(self, centres: NDArray[np.float32], scheduled: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Counts of records by nearest centre and class, (centres, classes).

        Nearest by squared Euclidean distance among all centres (Q, F), the first of equally near ones; a
        record whose clique is not `scheduled` there, (cliques, Q), does not count. Whatever one record is, it
        counts in one cell at most.
        """
        size = 1 + WORK_BYTES // (len(centres) * _NUMBER_BYTES)
        counted = np.zeros((len(centres), self.classes))
        for start in range(0, len(self.X), size):
            part = slice(start, start + size)
            nearest = cdist(self.X[part], centres, "sqeuclidean").argmin(axis=1)
            voting = scheduled[self.cliques[part], nearest]
            np.add.at(counted, (nearest[voting], self.y[part][voting]), 1)
        return counted
