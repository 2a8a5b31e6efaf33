"""Independent computation of multi-label releases, in many-digit arithmetic, one label at a time."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath as mp
import numpy as np

from tests.guardian.accounting import oracle

DIGITS = 150
SOME = np.array([1.5, 2.0, 8.0, 32.0, 64.0, 256.0, 1024.0])

Bits = Callable[[float, float, bool], list[Any]]


def bit(centre: Any) -> list[Any]:
    """Return the probabilities of yes and no."""
    return [oracle.upper_tail(-centre), oracle.upper_tail(centre)]


def vote(sigma: float) -> Bits:
    """Return the centre of an answered label's bit, with noise on both counts."""
    deviation = mp.sqrt(2) * mp.mpf(sigma)
    return lambda p, n, answered: [(2 * mp.mpf(p) - mp.mpf(n)) / deviation] if answered else []


def check(threshold: float, sigma: float) -> Bits:
    """Return the centre of a label's check."""
    return lambda p, n, answered: [(max(mp.mpf(p), mp.mpf(n) - mp.mpf(p)) - threshold) / mp.mpf(sigma)]


def both(first: Bits, second: Bits) -> Bits:
    """Return the centres of two releases about the same label."""
    return lambda p, n, answered: first(p, n, answered) + second(p, n, answered)


def divergences(bits: Bits, label: tuple[float, float, bool], by: float, order: float) -> list[Any]:
    """Return the divergence of one label whose positives change by `by` votes, in both directions."""
    p, n, answered = label
    totals = [mp.mpf(0), mp.mpf(0)]
    for here, there in zip(bits(p, n, answered), bits(p + by, n, answered), strict=True):
        x, y = bit(here), bit(there)
        totals[0] += oracle.small_divergence(x, y, order)
        totals[1] += oracle.small_divergence(y, x, order)
    return totals


def flipped(
    bits: Bits,
    labels: Sequence[tuple[float, float, bool]],
    order: float,
    moves: Sequence[float] = (-1, 1),
) -> float:
    """Return the largest divergence over all votes of one unit on all labels, and both directions."""
    with mp.workdps(DIGITS):
        totals = [mp.mpf(0), mp.mpf(0)]
        for label in labels:
            costs = [divergences(bits, label, by, order) for by in moves]
            totals = [total + max(pair) for total, pair in zip(totals, zip(*costs, strict=True), strict=True)]
        return float(max(totals))


def joint(sigma: float, before: np.ndarray, after: np.ndarray, n: float, order: float) -> float:
    """Return the divergence of all bits between two tallies, the larger of both directions, in doubles."""
    from scipy.special import log_ndtr

    p, r = ((2 * x - n) / (math.sqrt(2) * sigma) for x in (before, after))
    totals = []
    for x, y in ((p, r), (r, p)):
        terms = [order * log_ndtr(s * x) + (1 - order) * log_ndtr(s * y) for s in (1, -1)]
        totals.append(float(np.logaddexp(*terms).sum()) / (order - 1))
    return max(totals)
