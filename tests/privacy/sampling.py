"""The release path as it runs: ballots shared by parties, one sum a half, noise in the ring, answers."""

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from common.plan import Confident, Mechanism
from common.sharing.expansion import expand, fresh_seed
from common.sharing.ring import Ring, RingArray
from common.sharing.shares import add, split
from guardian.mechanisms import release
from guardian.noise import NoiseSource

P = 1e-9
"""The chance with which a statistical test of right code fails."""

REFUSED = -1


def tally(votes: NDArray[np.int64], queries: int, ring: Ring, parties: int = 3) -> RingArray:
    """Sum of both halves of the shares of one histogram (k,), asked `queries` times."""
    guardian, querier = [], []
    for ballot in _ballots(votes, parties):
        seed = fresh_seed()
        guardian.append(split(np.tile(ballot, (queries, 1)), seed, ring))
        querier.append(expand(seed, queries, len(votes), ring))
    return add([add(guardian), add(querier)])


def _ballots(votes: NDArray[np.int64], parties: int) -> list[NDArray[np.int64]]:
    parts = [votes // parties] * (parties - 1)
    return [*parts, votes - sum(parts)]


def outcomes(sums: RingArray, mechanism: Mechanism, noise: NoiseSource, ring: Ring) -> NDArray[np.int64]:
    """How often each outcome came: one count a class, then how often nothing was answered (Confident)."""
    labels = release(sums, mechanism, noise, ring).labels
    size = sums.shape[1] + isinstance(mechanism, Confident)
    return np.bincount(np.where(labels == REFUSED, sums.shape[1], labels), minlength=size)


@dataclass(frozen=True)
class Interval:
    """A Clopper-Pearson interval that misses the true probability with at most `P` shared out."""

    low: float
    high: float


def intervals(counts: NDArray[np.int64], share: int = 4) -> list[Interval]:
    """Simultaneous intervals for the probabilities of all outcomes, each side at P/(share * outcomes)."""
    draws, risk = int(counts.sum()), P / (share * len(counts))
    return [
        Interval(
            float(stats.beta.ppf(risk, c, draws - c + 1)) if c else 0.0,
            float(stats.beta.isf(risk, c + 1, draws - c)) if c < draws else 1.0,
        )
        for c in counts.tolist()
    ]


def agrees(counts: NDArray[np.int64], probabilities: NDArray[np.float64]) -> bool:
    """Whether what was sampled can come from these probabilities; false with at most P where it does."""
    return all(i.low <= p <= i.high for i, p in zip(intervals(counts), probabilities, strict=True))


def least_epsilon(one: NDArray[np.int64], other: NDArray[np.int64], delta: float) -> float:
    """The least epsilon at `delta` that any mechanism with these outcomes can have, from below."""
    best = 0.0
    for a, b in ((one, other), (other, one)):
        for i, j in zip(intervals(a), intervals(b), strict=True):
            if i.low > delta:
                best = max(best, log((i.low - delta) / j.high))
    return best
