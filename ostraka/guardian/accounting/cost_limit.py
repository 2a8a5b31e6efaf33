"""The computing limit of `exact` per query; beyond it the worst case is charged."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostraka.common.privacy import ONE_VOTE, Influence
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.numerics.summation import plain
from ostraka.guardian.accounting.tally import Tally

MAX_TERMS = 2.0**25
"""Queries above this limit are charged the worst case: about a quarter of a second on one core of 2020."""


def affordable_argmax(tally: Tally, sigma: float, influence: Influence = ONE_VOTE) -> NDArray[np.bool_]:
    """Return for which queries (Q,) of an argmax with noise `sigma` `exact` takes at most MAX_TERMS."""
    return terms(tally.classes, np.ptp(tally.votes, axis=1), sigma, influence) <= MAX_TERMS


def affordable_sets(tally: Tally, sigma: float, influence: Influence = ONE_VOTE) -> NDArray[np.bool_]:
    """Return the same as `affordable_argmax` for label sets; sets with equal counts are of one kind."""
    counts = tally.largest_counts()
    return terms(_kinds(counts), counts.max(axis=1), sigma, influence) <= MAX_TERMS


def terms(
    outcomes: Floats | int, spread: Floats | float, sigma: float, influence: Influence = ONE_VOTE
) -> Floats:
    """Return the approximate time of `exact` for a noisy argmax, as a number of logarithms.

    Args:
        outcomes: classes, or kinds of label sets.
        spread: how far counts lie apart, in votes.
        sigma: noise of each count, in votes.
        influence: what one unit can change in one query; several votes take two calculations.

    Counts that lie close together are summed directly, others on a longer grid and as logarithms
    (`ostraka.guardian.accounting.numerics.summation`).
    """
    k = np.asarray(outcomes, dtype=np.float64)
    shift = influence.sensitivity / sigma
    above = np.sqrt(2 * np.log(np.maximum(k, 2.0))) + 2 * shift
    apart = np.asarray(spread, dtype=np.float64) / sigma
    # A grid's range over its step, pi sqrt(2/(k log(4/QUADRATURE))) = 1/(1.3 sqrt k); 17 is twice its reach.
    points = 1.3 * np.sqrt(k) * (0.75 * apart + 17 + above)
    # Measured in units of the time of one logarithm; direct sums are matrix products.
    summed = np.where(plain(apart + above, shift), 10 * k**3, (2 * k**3 + 10 * k) * points)
    return np.asarray(min(influence.votes, 2) * (1500 * k + summed), dtype=np.float64)


def _kinds(counts: Floats) -> Floats:
    """Return the number of kinds (Q,) of sets with `counts` (Q, seen): three for each count."""
    ordered = -np.sort(-counts, axis=1)
    voted = ordered > 0
    voted[:, 3:] &= ordered[:, 3:] != ordered[:, :-3]
    return np.asarray(voted.sum(axis=1) + 3, dtype=np.float64)
