"""A released batch as the accountant sees it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from common.mechanism import L1, AnyMechanism, Binary, NoiseCluster, Tau
from guardian.accounting.checks import Floats


@dataclass(frozen=True)
class Tally:
    """What was released: the lifted sums, whatever a querying party made of them, and the answers given.

    Attributes:
        mechanism: what was released.
        classes: classes k, or labels of a multi-label task.
        teachers: scheduled teachers n, or records of NoiseCluster's parties.
        votes: sums in votes, (Q, width), float64.
        answered: which answers were given, bool (Q, m).
        scores: the student's probabilities under Interactive, (Q, k).
        adjacency: what neighbours differ in.
    """

    mechanism: AnyMechanism
    classes: int
    teachers: int
    votes: Floats = field(repr=False)
    answered: NDArray[np.bool_] = field(repr=False)
    scores: Floats | None = field(repr=False, default=None)
    adjacency: Literal["record", "label"] = "record"

    def rows(self, chosen: NDArray[np.bool_]) -> Tally:
        """Return the tally of the `chosen` queries (Q,)."""
        scores = None if self.scores is None else self.scores[chosen]
        return replace(self, votes=self.votes[chosen], answered=self.answered[chosen], scores=scores)

    def seen(self) -> Floats:
        """Return Powerset's largest counts (Q, at most n): honest votes reach no more sets."""
        most = min(self.teachers, self.votes.shape[1])
        return np.asarray(-np.partition(-self.votes, most - 1, axis=1)[:, :most], dtype=np.float64)

    def plausible(self) -> NDArray[np.bool_]:
        """Return which queries (Q,) have sums that ballots of n teachers can add up to.

        Bounds other than the worst case assume as much.
        """
        possible = np.isfinite(self.votes) & (self.votes >= 0) & (self.votes <= self.teachers)
        if not isinstance(self.mechanism, Tau | L1):
            possible = possible & (np.floor(self.votes) == self.votes)
        rows = np.asarray(possible.all(axis=1), dtype=np.bool_)
        if isinstance(self.mechanism, Binary | Tau | L1):
            return rows
        total = np.where(possible, self.votes, 0.0).sum(axis=1)
        if isinstance(self.mechanism, NoiseCluster):
            return np.full(len(rows), rows.all() and total.sum() == self.teachers)
        return np.asarray(rows & (total == self.teachers), dtype=np.bool_)
