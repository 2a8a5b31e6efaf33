"""The worst case of a noisy argmax: which of k counts is the largest after Gaussian noise.

After sums are folded (`Ring.fold`), a unit moves any count by at most `shift` deviations, and all counts
together by at most twice that. The costliest such move raises one count and lowers another; somebody who
learns the largest other count still sees three outcomes. docs/accounting-argmax.md derives what is used here;
`python -m benchmarks.argmax --prove` proves its one constant at every order of ORDERS.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import lru_cache

from ostraka.common.privacy.conversion import ORDERS
from ostraka.common.privacy.filters import GAUSSIAN
from ostraka.common.privacy.gaussian import noise_rho
from ostraka.common.privacy.two_outcomes import check_arguments, two_outcomes_rdp
from ostraka.common.sharing import FRACTION_BITS

ABOVE_TWO_CLASSES = 1.01
"""Upper bound, at orders of ORDERS, on the cost for any number of classes relative to two classes; proved."""
FARTHEST = 48.0
"""Distance, in deviations of noise, that the proof needs from a count to the point where the ring wraps."""
MIN_GROWTH = 1e-9
"""Minimum of order (order - 1) shift^2; smaller shifts are charged a proportion of the cost at it."""
_NEGLIGIBLE = 33.0
"""Deviations beyond what a unit moves: R less that, in docs/accounting-argmax.md ("On the lattice")."""
_WIDEST_STEP = 0.25
"""The largest e there for which the lattice's share is proved."""
_WIDEST = 2**20
"""Maximum number of counts for which the lattice's share is proved."""


def argmax_reach(sigma: float) -> float:
    """Return the room, in votes, that a count's noise needs in half the ring beside twice the votes.

    Folded counts fill one half of that room, and `FARTHEST` deviations fit into the other half.
    """
    return 2 * FARTHEST * sigma


def argmax_rdp(order: float, sensitivity: float, sigma: float, width: int) -> float:
    """Return the cost of an argmax over `width` counts with noise of `sigma` votes, ties broken in any way.

    Args:
        order: Renyi order, or `GAUSSIAN`.
        sensitivity: votes that a unit can move from one count to another, including their weight.
        sigma: deviation of the noise of each count, in votes, on the lattice of the ring.
        width: number of counts that a unit may move.
    """
    if order == GAUSSIAN:
        return noise_rho(math.sqrt(2) * sensitivity, sigma)
    step = math.ldexp(1 / sigma, -FRACTION_BITS)
    return argmax_bound(order, sensitivity / sigma, lattice=step, width=width)


@lru_cache(maxsize=4096)
def argmax_bound(order: float, shift: float, *, lattice: float = 0.0, width: int = 2) -> float:
    """Return the largest divergence at `order` of a noisy argmax, rounded up by at most 1.1%.

    It is valid for every histogram and both directions, and never above order shift^2, the cost of the
    Gaussian mechanism, which is returned for orders and shifts that the proof does not cover. Own derivation,
    proved in docs/accounting-argmax.md.

    Args:
        order: Renyi order, above 1.
        shift: what a unit can add to a count and take from another, in deviations of the noise of a count.
        lattice: step of the noise in its deviations; 0 for continuous noise.
        width: number of counts that may move; it only matters on a lattice.

    Raises:
        ValueError: if an argument is not a finite number in its range.
    """
    check_arguments(order, shift, lattice)
    return min(order * shift**2, _continuous(order, shift) + _lattice_share(order, shift, lattice, width))


def farthest(order: float, shift: float) -> float:
    """Return how many deviations from its count a draw matters; everything beyond costs less than 1e-30."""
    return _NEGLIGIBLE + (1 + 2 * math.sqrt(2) * order) * shift


def _continuous(order: float, shift: float) -> float:
    """Return the bound for continuous noise; (order - 1) times the divergence is convex in the order."""
    if not ORDERS[0] <= order <= ORDERS[-1] or farthest(order, shift) > FARTHEST:
        return order * shift**2
    place = bisect_right(ORDERS, order)
    below = ORDERS[place - 1]
    if below == order:
        return _at(order, shift)
    above = ORDERS[place]
    low = (below - 1) * _at(below, shift)
    high = (above - 1) * _at(above, shift)
    return (low + (order - below) / (above - below) * (high - low)) / (order - 1)


def _at(order: float, shift: float) -> float:
    """Return the bound at an order of ORDERS; below the least shift, of the chord to 0 (it is convex)."""
    least = math.sqrt(MIN_GROWTH / (order * (order - 1)))
    if shift < least:
        return shift / least * _at(order, least)
    gaussian = order * shift**2
    if farthest(order, shift) > FARTHEST:
        return gaussian
    return min(gaussian, ABOVE_TWO_CLASSES * two_outcomes_rdp(order, math.sqrt(2) * shift))


def _lattice_share(order: float, shift: float, lattice: float, width: int) -> float:
    """Bound what the lattice and its ties add, possibly infinity."""
    step = lattice * (farthest(order, shift) + 1)
    if step > _WIDEST_STEP or width > _WIDEST:
        return math.inf
    return (2 * order - 1) / (order - 1) * (step + width * step**2 / 2)
