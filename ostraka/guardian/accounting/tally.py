"""A released batch, as the accountant sees it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import Mechanism
from ostraka.common.sharing.ballots import LabelCounts, LabelSetCounts, RecordCounts
from ostraka.guardian.accounting.numerics.arguments import Floats


@dataclass(frozen=True)
class Tally:
    """The released batch: the lifted sums, which a querying party may have shifted, and the answers given.

    Attributes:
        mechanism: what was released.
        classes: classes k, or labels of a multi-label task.
        total: weight of all votes scheduled for a query, in votes (Q,); for NoiseCluster the number of
            records of its parties, the same in every row; if ballots have one count per label also (Q, k), by
            label.
        voters: the largest number of teachers scheduled for a query.
        votes: sums in votes, (Q, width), float64.
        answered: which answers were given, bool (Q, m).
        scores: the student's probabilities under Interactive, (Q, k).
        labels: the answers (Q, m); the given ones may decide their cost. None: unknown.
        adjacency: what neighbours differ in.
    """

    mechanism: Mechanism
    classes: int
    total: Floats
    voters: int
    votes: Floats = field(repr=False)
    answered: NDArray[np.bool_] = field(repr=False)
    scores: Floats | None = field(repr=False, default=None)
    adjacency: Literal["record", "label"] = "record"
    labels: NDArray[np.int64] | None = field(repr=False, default=None)

    def rows(self, chosen: NDArray[np.bool_]) -> Tally:
        """Return the tally of the `chosen` queries (Q,)."""
        scores = None if self.scores is None else self.scores[chosen]
        labels = None if self.labels is None else self.labels[chosen]
        total = self.total[chosen]
        votes = self.votes[chosen]
        answered = self.answered[chosen]
        return replace(self, total=total, votes=votes, answered=answered, scores=scores, labels=labels)

    @property
    def released(self) -> NDArray[np.int64] | None:
        """The labels (Q,) of a mechanism with one answer per query; None: unknown."""
        return None if self.labels is None else self.labels[:, 0]

    def without(self, labels: Collection[int]) -> Tally:
        """Return the tally without these labels, for ballots with one count per label.

        The votes of a unit whose cohort abstains from these labels decide only this tally
        (docs/dependencies.md).
        """
        if not labels:
            return self
        left = self.classes - len(labels)
        places = list(labels)
        return replace(
            self,
            mechanism=self.mechanism.narrowed(left),
            classes=left,
            total=np.delete(self.total, places, axis=1),
            votes=np.delete(self.votes, places, axis=1),
            answered=np.delete(self.answered, places, axis=1),
            labels=None if self.labels is None else np.delete(self.labels, places, axis=1),
        )

    def totals(self) -> Floats:
        """Return the weight of all votes on each count, broadcast to the votes (Q, width)."""
        return np.broadcast_to(self.total if self.total.ndim == 2 else self.total[:, None], self.votes.shape)

    def largest_counts(self) -> Floats:
        """Return Powerset's largest counts (Q, at most voters): honest votes reach no more sets."""
        most = max(1, min(self.voters, self.votes.shape[1]))
        return np.asarray(-np.partition(-self.votes, most - 1, axis=1)[:, :most], dtype=np.float64)

    def plausible(self) -> NDArray[np.bool_]:
        """Return for which queries (Q,) ballots of these teachers can add up to the sums.

        Bounds other than the worst case assume that they can (docs/accounting.md). Counts need not be whole,
        because votes may be weighted or clipped.
        """
        possible = np.isfinite(self.votes) & (self.votes >= 0) & (self.votes <= self.totals())
        rows = np.asarray(possible.all(axis=1), dtype=np.bool_)
        ballot = self.mechanism.ballot
        if isinstance(ballot, LabelCounts):
            return rows
        counts = np.where(possible, self.votes, 0.0)
        if isinstance(ballot, RecordCounts):
            return np.full(len(rows), rows.all() and (self.total == counts.sum()).all())
        if isinstance(ballot, LabelSetCounts):
            rows &= np.count_nonzero(counts, axis=1) <= self.voters
        return np.asarray(rows & (counts.sum(axis=1) == self.total), dtype=np.bool_)
