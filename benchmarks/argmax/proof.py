"""Proof that an argmax of any number of classes costs at most 1% more than one of two.

`ostraka.common.privacy.argmax` returns 1.01 times the cost of two classes. This module proves it at an order
for all shifts: at nodes, by cells that cover both heights, and between nodes by the convexity of the moment's
logarithm in the shift. docs/accounting-argmax.md derives what is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import log_ndtr, ndtri

from benchmarks.argmax.cells import Room, cells_fit
from benchmarks.argmax.three_outcomes import Floats
from ostraka.common.privacy.argmax import ABOVE_TWO_CLASSES, FARTHEST, MIN_GROWTH, farthest
from ostraka.common.privacy.two_outcomes import two_outcomes_rdp, two_outcomes_within

AT_NODES = 1.0075
"""The bound at nodes; the rest up to `ABOVE_TWO_CLASSES` is for the shifts between them."""
STEP = 0.065
"""Ratio of neighbouring nodes, minus 1."""
_BETWEEN = 256
"""Subintervals between two nodes; both sides are monotonic in each."""
_WITHIN = 1e-6  # relative error of the cost of two classes, subtracted from the bound
_ROUNDING = 1e-5  # relative margin, far above the errors of the integrals (docs/accounting-argmax.md)
_HEIGHTS = 400  # tried along a side: more would move the side less, and cells cover the rest
_FARTHEST_OUT = 12.0  # in standard deviations past the shifts, where a class wins with less than 1e-32


def check_nodes(order: float) -> Iterator[tuple[float, bool]]:
    """Yield the nodes of an order, with whether the bound is true up to each from the one before.

    The first is the smallest shift, below which the bound is the chord to 0. The last is at or beyond the
    largest shift at which the bound is not the Gaussian mechanism's.
    """
    nodes = nodes_of(order)
    for index, node in enumerate(nodes.tolist()):
        begin = float(nodes[max(0, index - 1)])
        yield node, at_node(order, node) and between(order, begin, node)


def nodes_of(order: float) -> Floats:
    """Return the nodes of an order, ascending."""
    least = math.sqrt(MIN_GROWTH / (order * (order - 1)))
    most = (FARTHEST - farthest(order, 0.0)) / (farthest(order, 1.0) - farthest(order, 0.0))
    count = math.ceil(math.log(most / least) / math.log1p(STEP))
    return np.asarray(least * (1 + STEP) ** np.arange(count + 1), dtype=np.float64)


def at_node(order: float, shift: float) -> bool:
    """Return whether an argmax costs at most `AT_NODES` times the cost of two classes."""
    bound = AT_NODES * two_outcomes_rdp(order, math.sqrt(2) * shift) / (1 + _WITHIN)
    return bound >= order * shift**2 or prove(order, shift, bound * (1 - _ROUNDING))


def between(order: float, begin: float, end: float) -> bool:
    """Return whether the bound is true between two nodes, given that it is true at both.

    The logarithm of the moment is below its chord, which grows with the shift, like the cost of two classes.
    """
    shifts = np.linspace(begin, end, _BETWEEN + 1)
    two = two_outcomes_within(_WITHIN, order, math.sqrt(2) * shifts)
    chord = AT_NODES * (two[0] + (two[-1] - two[0]) * np.linspace(0, 1, _BETWEEN + 1))
    return bool((chord[1:] <= ABOVE_TWO_CLASSES * two[:-1] / (1 + _WITHIN)).all())


def prove(order: float, shift: float, bound: float) -> bool:
    """Return whether no heights of the two classes cost more than `bound`.

    Heights below the triangle's two short sides and above its long side are bounded together, the others by
    cells.
    """
    log_moment = (order - 1) * bound
    a, b = _short_sides(order, shift, log_moment)
    along = _long_side(order, shift, log_moment)
    return cells_fit(Room(order, shift, log_moment, a, b, math.sqrt(2) * along - a - b))


def _short_sides(order: float, shift: float, log_moment: float) -> tuple[float, float]:
    """Return heights of the gaining and of the losing class below which everything is within the bound.

    There, the class hardly matters: what remains is the other class against the level, and the class's noisy
    count where it exceeds the level.
    """
    rest = order - 1
    tilt = (order - 1) * shift
    room = (log_moment - rest * two_outcomes_rdp(order, shift)) * (1 - _ROUNDING)
    below = np.linspace(0.0, tilt + shift + _FARTHEST_OUT, _HEIGHTS)
    heights = []
    for moved in (shift, -shift):
        stays_out = order * log_ndtr(below) - rest * log_ndtr(below - moved)
        seen = order * tilt * shift / 2 + log_ndtr(-below - rest * moved)
        fits = np.logaddexp(stays_out, seen) <= room
        heights.append(-min(below[fits].tolist(), default=math.inf))
    return heights[0], heights[1]


def _long_side(order: float, shift: float, log_moment: float) -> float:
    """Return (a + b)/sqrt 2 above which heights a and b are within the bound: other classes hardly win."""
    two_classes = math.expm1((order - 1) * two_outcomes_rdp(order, math.sqrt(2) * shift))
    gaussian = math.expm1(order * (order - 1) * shift**2)
    return -float(ndtri((math.expm1(log_moment) - two_classes) / (gaussian - two_classes)))
