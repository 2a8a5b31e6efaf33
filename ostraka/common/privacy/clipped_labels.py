"""The worst case of many answers with two outcomes that one clipped ballot can move together.

docs/accounting-multilabel.md proves it.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ostraka.common.privacy.two_outcomes import (
    Floats,
    two_outcomes_lattice,
    two_outcomes_rdp,
    two_outcomes_within,
)

_RATIO = 1.2
_TOLERANCE = 1e-3
_FEW = 0.01
_ROUNDING = 1 + 1e-9


def clipped_labels_rdp(
    order: float, labels: int, shift: float, squares: float, *, lattice: float = 0.0
) -> float:
    """Return the most that answers about `labels` labels can cost together.

    Args:
        order: Renyi order, above 1.
        labels: number of answers with two outcomes, each with its own noise.
        shift: how far one neighbour moves each label's number, in deviations of its noise, at most.
        squares: the largest sum over labels of squared moves, in the same unit; infinite without a limit.
        lattice: as for `two_outcomes_rdp`.

    Returns:
        An upper bound for all inputs and both directions, never above order squares/2 nor above `labels`
        times `two_outcomes_rdp`. Own derivation, proved in docs/accounting-multilabel.md.

    Raises:
        ValueError: where an argument is not a number in its range.
    """
    if labels < 0:
        raise ValueError(f"labels: must be 0 or more, is {labels}")
    if not squares >= 0:
        raise ValueError(f"squares: must be a number, 0 or more, is {squares}")
    each = labels * two_outcomes_rdp(order, shift, lattice=lattice)
    if shift == 0 or math.isinf(squares):
        return each
    added = labels * two_outcomes_lattice(order, shift, lattice)
    return min(each, order * squares / 2, squares * _slope(order, shift) + added)


@lru_cache(maxsize=4096)
def _slope(order: float, shift: float) -> float:
    """Bound F(x)/x^2 for 0 < x <= `shift`, F being `two_outcomes_rdp`, which is convex: below its chords."""
    least = _FEW / (order + 1)
    steepest = order / math.pi * math.exp(0.69 * _FEW**2 + _FEW * (0.8 + least))
    cells = max(0, math.ceil(math.log(shift / least, _RATIO)))
    if cells:
        x: Floats = shift * _RATIO ** -np.arange(cells + 1.0)
        at = two_outcomes_within(_TOLERANCE, order, x)
        steepest = max(steepest, float(_steepest(x[1:], x[:-1], at[1:], at[:-1]).max()))
    return min(steepest * _ROUNDING, order / 2)


def _steepest(low: Floats, high: Floats, at_low: Floats, at_high: Floats) -> Floats:
    """Return the largest quotients of the lines through two points by x^2, between them."""
    rise = (at_high - at_low) / (high - low)
    start = at_low - rise * low
    touch = np.clip(-2 * start / rise, low, high)
    return np.asarray((start + rise * touch) / touch**2, dtype=np.float64)
