"""The worst case of a noisy argmax: the largest count after Gaussian noise, of any number of classes.

One vote moves from one class to another. Whoever learns the largest noisy count of all other classes still
sees three outcomes: the class that gained wins, the one that lost wins, or another does. The worst case is
the largest divergence between these over both heights above that level. It is at most 0.53% above that of two
classes, which `two_outcomes_rdp` bounds; every call proves 0.99% for its order and shift.
docs/accounting-argmax.md derives what is used here.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import log_ndtr, ndtri

from benchmarks.argmax.cells import Room, cells_fit
from ostraka.common.two_outcomes import check_arguments, two_outcomes_rdp

_ABOVE_TWO_CLASSES = 1.0099
_ROUNDING = 1e-5
_LEAST = 1e-9
_NEGLIGIBLE = 13.0
_WIDEST_STEP = 0.25
_HEIGHTS = 400
_FARTHEST = 12.0


@lru_cache(maxsize=4096)
def argmax_worst_case_rdp(order: float, shift: float, *, lattice: float = 0.0) -> float:
    """Return the largest divergence at `order` of a noisy argmax, rounded up by at most 1%.

    It holds for every histogram and every number of classes, ties broken uniformly, where no noisy count
    wraps around a ring. Several votes that move `shift` together cost no more, with continuous noise.

    Args:
        order: Renyi order, above 1.
        shift: what one vote adds to a count and takes from another, in deviations of the noise of a count.
        lattice: step of the noise in its deviations; 0 for continuous noise.

    Returns:
        An upper bound over all histograms and both directions, never above order shift^2, the Gaussian
        mechanism's. It grows with the shift. Own derivation, proved in docs/accounting-argmax.md.

    Raises:
        ValueError: where an argument is not a finite number in its range.
    """
    check_arguments(order, shift, lattice)
    return min(order * shift**2, _continuous(order, shift) + _lattice_share(order, shift, lattice))


def _continuous(order: float, shift: float) -> float:
    """Return the bound for continuous noise; below the least shift the chord to 0 of a convex function."""
    least = math.sqrt(_LEAST / (order * (order - 1)))
    if shift < least:
        return shift / least * argmax_worst_case_rdp(order, least)
    gaussian = order * shift**2
    bound = _ABOVE_TWO_CLASSES * two_outcomes_rdp(order, math.sqrt(2) * shift)
    return bound if bound < gaussian and _proved(order, shift, bound * (1 - _ROUNDING)) else gaussian


def _proved(order: float, shift: float, bound: float) -> bool:
    """Return whether no heights of the two classes cost more than `bound`.

    Heights below the triangle's two short sides and above its long side are bounded as a whole, the others
    by cells.
    """
    log_moment = (order - 1) * bound
    a, b = _short_sides(order, shift, log_moment)
    along = _long_side(order, shift, log_moment)
    return cells_fit(Room(order, shift, log_moment, a, b, math.sqrt(2) * along - a - b))


def _short_sides(order: float, shift: float, log_moment: float) -> tuple[float, float]:
    """Return heights of the class that gains, and of the one that loses, below which all is within the bound.

    There the class is all but out: what remains is the other against the level, and the noisy count of the
    class where it exceeds the level.
    """
    rest, tilt = order - 1, (order - 1) * shift
    room = (log_moment - rest * two_outcomes_rdp(order, shift)) * (1 - _ROUNDING)
    below = np.linspace(0.0, tilt + shift + _FARTHEST, _HEIGHTS)
    heights = []
    for moved in (shift, -shift):
        stays_out = order * log_ndtr(below) - rest * log_ndtr(below - moved)
        seen = order * tilt * shift / 2 + log_ndtr(-below - rest * moved)
        fits = np.logaddexp(stays_out, seen) <= room
        heights.append(-min(below[fits].tolist(), default=math.inf))
    return heights[0], heights[1]


def _long_side(order: float, shift: float, log_moment: float) -> float:
    """Return (a + b)/sqrt 2 above which heights a and b are within the bound: another class hardly wins."""
    two_classes = math.expm1((order - 1) * two_outcomes_rdp(order, math.sqrt(2) * shift))
    gaussian = math.expm1(order * (order - 1) * shift**2)
    return -float(ndtri((math.expm1(log_moment) - two_classes) / (gaussian - two_classes)))


def _lattice_share(order: float, shift: float, lattice: float) -> float:
    """Bound what the lattice adds, maybe infinity: each of two draws changes a probability by its half."""
    farthest = (order - 1) * shift + shift + math.sqrt(2 * order * (order - 1)) * shift + _NEGLIGIBLE
    distance = 8 * farthest + 12
    if lattice * distance > _WIDEST_STEP:
        return math.inf
    return (2 * order - 1) / (order - 1) * (lattice * (distance + 1)) ** 2
