"""Votes for whole label sets: those that somebody voted for, and how many others there are."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ostraka.common.planning.search.forecast import Floats
from ostraka.common.sharing.label_sets import bits_of, count_sets, index_of

_DRAWS = 8
"""Releases that are simulated of each query."""
_SEED = 0


@dataclass(frozen=True)
class LabelSetVotes:
    """Sets that got votes, and noise that is the same at every sigma but for its scale.

    Attributes:
        bits: of the sets of each query, bool (Q, sets, labels).
        counts: votes for them, float64 (Q, sets); minus infinity where a query has fewer.
        noise: of each set, of deviation 1, float64 (draws, Q, sets).
        others: the largest noise of all sets without a vote, (draws, Q), and `other_bits` of one drawn set.
    """

    bits: NDArray[np.bool_] = field(repr=False)
    counts: Floats = field(repr=False)
    noise: Floats = field(repr=False)
    others: Floats = field(repr=False)
    other_bits: NDArray[np.bool_] = field(repr=False)

    @classmethod
    def of(cls, ballots: NDArray[np.bool_], most: int | None) -> Self:
        """Count ballots (teachers, Q, labels), each of its first `most` labels."""
        from scipy.special import ndtri

        labels = ballots.shape[2]
        kept = ballots if most is None else ballots & (np.cumsum(ballots, axis=2) <= most)
        found = [np.unique(sets, return_counts=True) for sets in index_of(kept).T]
        width, queries, sets = max(len(each) for each, _ in found), len(found), count_sets(labels, most)
        indices, counts = np.zeros((queries, width), np.int64), np.full((queries, width), -np.inf)
        for row, (each, votes) in enumerate(found):
            indices[row, : len(each)], counts[row, : len(each)] = each, votes
        rng = np.random.default_rng(_SEED)
        unvoted = np.array([sets - len(each) for each, _ in found])
        largest = rng.random((_DRAWS, queries)) ** (1 / np.maximum(unvoted, 1))
        return cls(
            bits_of(indices, labels),
            counts,
            rng.standard_normal((_DRAWS, queries, width)),
            np.where(unvoted > 0, ndtri(largest), -np.inf),
            bits_of(rng.integers(sets, size=(_DRAWS, queries)), labels),
        )

    def right(self, truth: NDArray[np.bool_], sigma: float) -> Floats:
        """Return how often each label of the set with the most noisy votes is right, (Q, labels)."""
        noisy = self.counts + sigma * self.noise
        winner = noisy.argmax(axis=2)
        unvoted = sigma * self.others > np.take_along_axis(noisy, winner[..., None], axis=2)[..., 0]
        released = np.where(unvoted[..., None], self.other_bits, self.bits[np.arange(len(truth)), winner])
        return np.asarray((released == truth).mean(axis=0), dtype=np.float64)
