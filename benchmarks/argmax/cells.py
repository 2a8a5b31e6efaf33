"""Check that two classes' heights in a triangle cost at most a bound, by cells that are halved where needed.

docs/accounting-argmax.md derives both bounds of a cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.argmax.three_outcomes import Floats, log_outcomes, steepness

_ROOT2 = math.sqrt(2)
_FIRST_CELLS = 8  # per side of the triangle; any start works, because open cells are halved
_LEVELS = 14  # halvings, after which an open cell counts as refuted (docs/accounting-argmax.md)
_MAX_CELLS = 20_000  # open cells at once: limits memory; more count as refuted (docs/accounting-argmax.md)
_INDEX_BITS = 24  # of a corner's index in a key: more than the 17 that 8 cells need after 14 halvings

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Room:
    """A region of heights that must not cost more than a bound.

    Attributes:
        order: Renyi order.
        shift: how far one class rises and the other falls.
        log_moment: the bound, times order - 1.
        a: least height of the rising class above the level.
        b: least height of the falling class.
        leg: maximum of the sum of heights a and b above these.
    """

    order: float
    shift: float
    log_moment: float
    a: float
    b: float
    leg: float


@dataclass(frozen=True)
class Corners:
    """Values at the corners of cells.

    Attributes:
        excess: moment minus 1.
        weight: bound on the weight with which outcomes bend it, within half a diagonal.
    """

    excess: Floats
    weight: Floats


def cells_fit(room: Room) -> bool:
    """Return whether all heights of the triangle are proved to stay within the bound.

    False if one exceeds it, or if there would be too many cells.
    """
    if room.leg <= 0 or room.leg == math.inf:
        return room.leg <= 0
    width = room.leg / _FIRST_CELLS
    i, j = (index.ravel() for index in np.indices((_FIRST_CELLS, _FIRST_CELLS)))
    for _ in range(_LEVELS):
        inside = (i + j) * width < room.leg
        i = i[inside]
        j = j[inside]
        if not len(i):
            return True
        if len(i) > _MAX_CELLS:
            break
        open_ = _open(room, i, j, width)
        i = 2 * i[open_]
        j = 2 * j[open_]
        width = width / 2
        i = np.concatenate((i, i + 1, i, i + 1))
        j = np.concatenate((j, j, j + 1, j + 1))
    return False


def _open(room: Room, i: Indices, j: Indices, width: float) -> NDArray[np.bool_]:
    """Return which cells may exceed the bound."""
    keys = np.stack([(i + right << _INDEX_BITS) + j + up for right in (0, 1) for up in (0, 1)])
    distinct, of = np.unique(keys, return_inverse=True)
    a: Floats = room.a + np.multiply(width, distinct >> _INDEX_BITS, dtype=np.float64)
    b: Floats = room.b + np.multiply(width, distinct & (1 << _INDEX_BITS) - 1, dtype=np.float64)
    corners = _corners(room, a, b, width / _ROOT2)
    of = of.reshape(keys.shape)
    excess = corners.excess[of].max(axis=0)
    weight = corners.weight[of].max(axis=0)
    within = _by_logarithm(room, excess, width) | _by_excess(room, excess, weight, width)
    return np.asarray(~within)


def _by_logarithm(room: Room, excess: Floats, width: float) -> NDArray[np.bool_]:
    """Return which cells stay within the bound: the logarithm of the moment bends down by at most this."""
    bends = min(room.order, 1 + _ROOT2 * (room.order - 1) * room.shift)
    return np.asarray(np.log1p(excess) + bends * width**2 / 4 <= room.log_moment)


def _by_excess(room: Room, excess: Floats, weight: Floats, width: float) -> NDArray[np.bool_]:
    """Return which cells stay within the bound: the moment minus 1 bends down by a fraction of itself."""
    unit = room.order * (room.order - 1) * room.shift**2
    most = math.expm1(room.log_moment) / unit
    bends = most + 2 * np.sqrt(most * weight)
    return np.asarray(excess / unit + bends * width**2 / 4 <= most)


def _corners(room: Room, a: Floats, b: Floats, radius: float) -> Corners:
    """Return values that bound cells by their corners; `radius` is half a diagonal.

    A weight that overflows is infinite, so its cell stays open.
    """
    shift = room.shift
    rest = room.order - 1
    tilt = rest * shift
    before = log_outcomes(a, b)
    after = log_outcomes(a + shift, b - shift)
    rise = after - before
    excess = np.exp(before) * (np.expm1(-rest * rise) + rest * np.expm1(rise))
    steep = steepness(a, b, before)
    moved = after + (steep + _ROOT2 * shift) * radius
    tilted = before - rest * rise + (steep + _ROOT2 * tilt) * radius + tilt * radius**2 / _ROOT2
    with np.errstate(over="ignore"):
        most = np.exp(np.maximum(moved, tilted))
    weight = most * (2 * (steep + radius + _ROOT2 * shift) + 1) ** 2
    return Corners(excess.sum(axis=0), weight.sum(axis=0))
