"""What a unit pays for one released batch."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from common.mechanism import BOUND, Confident, GnMax, Mechanism
from common.privacy import worst_case
from guardian.accounting.checks import Floats, check_answered, check_bound, histograms
from guardian.accounting.confident import confident_rdp
from guardian.accounting.gnmax import gnmax_rdp


def charge(
    mechanism: Mechanism,
    votes: ArrayLike,
    answered: ArrayLike,
    order: float,
    bound: BOUND,
    sensitivity: float = 1.0,
    *,
    teachers: ArrayLike,
    lattice: float,
) -> float:
    """Return the rdp at `order` that one released batch costs a unit.

    Args:
        mechanism: what was released.
        votes: the lifted sums in votes, (Q, k), whatever a querying party made of them.
        answered: which queries were answered, bool (Q,).
        order: Renyi order of the unit's filter.
        bound: how a histogram is charged. "worst_case" does not look at the votes.
        sensitivity: what the unit can change in one query, in votes.
        teachers: scheduled teachers n of each query, a number or (Q,). A row that is no histogram of n
            whole votes (an offset or random sum) is charged the worst case, because the bounds assume one.
        lattice: step of the noise in votes (`guardian.noise.LATTICE`).

    Raises:
        InputError: where an argument other than the votes is malformed.
    """
    counts = np.asarray(votes, dtype=np.float64)
    mask = check_answered(answered, len(counts))
    worst = worst_case(mechanism, order, sensitivity)
    costs = worst.check + np.where(mask, worst.answer, 0.0)
    if check_bound(bound) == "theorem6":
        real = histograms(counts, teachers)
        stand_in = np.where(real[:, None], counts, 0.0)
        paid = _theorem6(mechanism, stand_in, mask, order, sensitivity, lattice)
        costs = np.where(real, np.minimum(costs, paid), costs)
    return math.fsum(np.maximum(costs, 0.0))


def _theorem6(
    mechanism: Mechanism,
    votes: Floats,
    answered: NDArray[np.bool_],
    order: float,
    sensitivity: float,
    lattice: float,
) -> Floats:
    match mechanism:
        case GnMax(sigma=sigma):
            rdp = gnmax_rdp(votes, sigma, order, bound="theorem6", sensitivity=sensitivity, lattice=lattice)
        case Confident(sigma1=sigma1, sigma2=sigma2, threshold=threshold):
            rdp = confident_rdp(
                votes,
                threshold,
                sigma1,
                sigma2,
                order,
                answered,
                bound="theorem6",
                sensitivity=sensitivity,
                lattice=lattice,
            )
    return rdp[:, 0]
