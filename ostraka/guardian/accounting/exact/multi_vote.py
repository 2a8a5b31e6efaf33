"""`exact` where a unit moves several votes, from any classes to any others.

D(P || R) is convex in what is moved, so it is largest where all votes leave one class and reach one other.
D(R || P) is not: it is bounded by D(P || R) at a higher order for a smaller move the other way.
docs/accounting.md proves both.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ostraka.common.privacy import Influence
from ostraka.guardian.accounting.exact.noisy_outcomes import NoisyCheck, Part
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.numerics.moments import largest_rdp

_PIECES = 8
"""How many times smaller the move is that stands for the way back: more cost digits and gain little."""


def argmax_rdp(
    part: Callable[[float], Part], moves: NDArray[np.bool_], orders: Floats, influence: Influence
) -> Floats:
    """Return the largest divergence (Q, R) of an argmax over all neighbours and in both directions.

    `part` are its outcomes after so many votes moved from a to b, and `moves` (Q, a, b) the pairs to try.
    One vote moves in whole; so do several between two classes, where less costs less.
    """
    whole = part(influence.sensitivity)
    if influence.votes == 1 or moves.shape[1] <= 2:
        return whole_move_rdp(whole, moves, orders)
    forwards = largest_rdp(whole.shifts, moves, orders, both=False)
    return np.maximum(
        _known(forwards) + added(whole.error, orders), _backwards(part, whole.error, moves, orders, influence)
    )


def whole_move_rdp(part: Part, moves: NDArray[np.bool_], orders: Floats) -> Floats:
    """Return the largest divergence (Q, R) of one release over `moves` (Q, a, b), in both directions."""
    return _known(largest_rdp(part.shifts, moves, orders)) + added(part.error, orders)


def check_rdp(check: NoisyCheck, moves: NDArray[np.bool_], orders: Floats, influence: Influence) -> Floats:
    """Return the largest divergence (Q, R) of a check; several votes move its number either way at most."""
    if influence.votes == 1:
        outcomes = check.moved(influence.weight)
    else:
        outcomes = check.within(influence.sensitivity)
        moves = np.ones(outcomes.shifts.change.shape[:3], dtype=np.bool_)
    return whole_move_rdp(outcomes, moves, orders)


def added(error: Floats, orders: Floats) -> Floats:
    """Return what an error (Q,) of log probabilities can hide at each order, as rdp (Q, R)."""
    return np.asarray(error[:, None] * (4 * orders / (orders - 1)))


def _backwards(
    part: Callable[[float], Part],
    error: Floats,
    moves: NDArray[np.bool_],
    orders: Floats,
    influence: Influence,
) -> Floats:
    """Bound D(R || P) (Q, R) by a m/(a-1) times D(P || R) at order 1 + a m for an m-th of the move."""
    higher = 1 + _PIECES * orders
    small = part(influence.sensitivity / _PIECES)
    ahead = _known(largest_rdp(small.shifts, moves, higher, both=False)) + added(error, higher)
    return np.asarray(ahead * (_PIECES * orders / (orders - 1)))


def _known(rdp: Floats) -> Floats:
    return np.nan_to_num(rdp, nan=np.inf)
