"""What samples prove, wrong with a probability of at most `P`."""

from math import log

import numpy as np
from numpy.typing import NDArray
from scipy import stats

P = 1e-9
"""The probability with which a statistical test of correct code fails."""

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


def chance(counts: Counts, probabilities: Floats) -> float:
    """Return the probability that some outcome deviates from its probability this much, or an upper bound.

    Exact binomial tests of every outcome, two-sided, times their number.
    """
    draws, each = counts.sum(), np.clip(probabilities, 0, 1)
    tails = np.minimum(stats.binom.cdf(counts, draws, each), stats.binom.sf(counts - 1, draws, each))
    return float(min(1.0, 2 * tails.min() * len(counts)))


def agrees(counts: Counts, probabilities: Floats) -> bool:
    """Whether the samples are consistent with these probabilities."""
    return chance(counts, probabilities) > P


def deviation(counts: Counts, probabilities: Floats) -> float:
    """Return the largest difference between an outcome's observed frequency and its probability."""
    return float(np.abs(counts / counts.sum() - probabilities).max())


def least_epsilon(sampled: tuple[Counts, Counts], expected: tuple[Floats, Floats], delta: float) -> float:
    """Return the smallest epsilon at `delta` consistent with these samples of two neighbours.

    Compares Clopper-Pearson bounds of events; each event collects the outcomes expected to be likelier for
    one neighbour, starting with the most telling. The events do not depend on the samples, so the probability
    of error is divided only by their number.
    """
    best = 0.0
    for one, other in ((0, 1), (1, 0)):
        order = np.argsort(-_ratio(expected[one], expected[other]), kind="stable")
        risk = P / (4 * len(order))
        seen = (np.cumsum(sampled[side][order]) for side in (one, other))
        for often, seldom in zip(*(counts.tolist() for counts in seen), strict=True):
            low = lowest_chance(often, int(sampled[one].sum()), risk)
            high = highest_chance(seldom, int(sampled[other].sum()), risk)
            if low > delta:
                best = max(best, log((low - delta) / high))
    return best


def _ratio(p: Floats, r: Floats) -> Floats:
    return np.where(p > 0, p / np.maximum(r, 1e-300), 0.0)


def lowest_chance(count: int, draws: int, risk: float) -> float:
    """Return a lower bound for the probability of an outcome, up to a `risk` (Clopper and Pearson 1934)."""
    return float(stats.beta.ppf(risk, count, draws - count + 1)) if count else 0.0


def highest_chance(count: int, draws: int, risk: float) -> float:
    """Return an upper bound for the probability of an outcome, up to a `risk`."""
    return float(stats.beta.isf(risk, count + 1, draws - count)) if count < draws else 1.0
