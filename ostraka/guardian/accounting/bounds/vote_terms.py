"""Queries whose theorem6 rdp is one falling function of a number that a vote moves by at most one step.

The number is the distance, in deviations of the noise, that gives the bound on another outcome. Costs are
counted in whole amounts over the cells of a grid, so the differences between neighbours are known exactly.
docs/accounting-smooth.md proves the step, that the function falls, and how far a number may be rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d, minimum_filter1d
from scipy.special import log_ndtr, ndtri_exp

from ostraka.common.privacy import AMOUNT_UNIT, amount
from ostraka.guardian.accounting.bounds.gnmax_rdp import with_lattice_enclosed
from ostraka.guardian.accounting.bounds.lnmax_rdp import log_q_laplace, theorem3_enclosed
from ostraka.guardian.accounting.bounds.theorem6 import theorem6_enclosed
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.numerics.intervals import LIBRARY, Interval

Whole = NDArray[np.int64]

CELLS = 32
"""Cells of the grid in one step."""
_ROUNDING = 1e-6
"""Relative amount by which steps are wider than a vote's move: room for the rounding of numbers."""
_INVERSE = 2.0**-38
"""Largest error of `ndtri_exp`, relative to 1 + its value."""
_MIN_SCALE = 2.0
"""The narrowest noise, in units of what one unit changes, for which costs are proved to fall
(docs/accounting-smooth.md, One falling function, step 5: w <= 1/2)."""
_HALF_RING = 2.0**15
"""Votes at which the narrowest ring wraps around: that far outside, a check costs the worst case on both
sides, unless its threshold is as large."""
NOWHERE = -(2.0**60)
"""A count that no ballots add up to: a query with it costs the worst case, and so does its neighbour."""
_MAX_CELLS = 2**18
"""Largest number of cells of a grid: the cells of 16,384 votes of the weight that moves. All filters together
take about a second for them."""
_WHOLE = 2.0**53
"""Largest whole number that doubles count exactly; SciPy's filters work in doubles."""
_PER_RDP = round(1 / AMOUNT_UNIT)


@dataclass(frozen=True)
class Moves:
    """The order and units of the account, and what a neighbour can change; all of it is public.

    Attributes:
        order: Renyi order.
        sensitivity: what the paying unit can change in one query, in votes.
        moved: what any unit can change in one query, at least `sensitivity`.
        most: upper bound on the weight of all votes on one query.
        lattice: step of the noise in votes; 0 for continuous noise.
    """

    order: float
    sensitivity: float
    moved: float
    most: float
    lattice: float = 0.0

    def of_ballots(self, most: float) -> Moves:
        """Return the same for ballots, possibly clipped, that move no count by more than `most`."""
        return replace(self, sensitivity=most * self.sensitivity, moved=most * self.moved)


@dataclass(frozen=True)
class Term:
    """Some queries and their cost function.

    Attributes:
        distances: each query's number (Q,).
        reach: the least and the largest number that votes can lead to; the function is cut off beyond.
        step: upper bound on a neighbour's move of a number.
        rounding: upper bound on the arithmetic error of a number.
        rdp: the function, from numbers (G,) to intervals that contain their costs (G,).
        worst: the largest cost of a query.
        falls: whether the function is proved to fall; if not, a neighbour may change a cost by its whole
            amount.
    """

    distances: Floats = field(repr=False)
    reach: tuple[float, float]
    step: float
    rounding: float
    rdp: Callable[[Floats], Interval] = field(repr=False)
    worst: float
    falls: bool

    @property
    def countable(self) -> bool:
        """Whether neighbours' numbers surely lie within `CELLS`, on a grid that is small enough to compute.

        Only public values decide.
        """
        rounded = 2 * self.rounding + self._width * self._cells * 2.0**-50
        amounts = self.worst * _PER_RDP
        return (
            self._cells <= _MAX_CELLS
            and rounded <= self.step * _ROUNDING / 2
            and amounts <= _WHOLE
            and amounts * len(self.distances) <= 2.0**62
        )

    def total(self) -> int:
        """Return the cost of all queries, in amounts, each rounded up and within the costs of its cell."""
        least, most = self.costs
        own = self.rdp(np.maximum(self.distances, self.reach[0]))
        cells = self._cell_of(self.distances)
        return int(_amounts_up(own.high).clip(least[cells], most[cells]).sum())

    def limit(self) -> int:
        """Return the largest change of the total by one record, in amounts, whatever the votes are."""
        return int(self._nearest.max()) * len(self.distances)

    def changes(self) -> Iterator[int]:
        """Yield the largest change of the total by one record at histograms 0, 1, 2, ... votes away.

        Changes are in amounts. Each is at least the true change, and at most the change of the next distance
        for any neighbour. The work depends only on `reach`, `step` and the number of queries.
        """
        counts = np.bincount(self._cell_of(self.distances), minlength=self._cells).astype(np.int64)
        for largest in self.windows():
            yield int(largest @ counts)

    def windows(self) -> Iterator[Whole]:
        """Yield the largest change of a cost within each cell's reach (G,) at 0, 1, 2, ... votes away."""
        largest = self._nearest
        while True:
            yield largest
            largest = _largest_around(largest)

    @cached_property
    def costs(self) -> tuple[Whole, Whole]:
        """The least and the largest cost of a query whose number lies in each cell, in amounts (G,)."""
        if not self.falls:
            return np.zeros(self._cells, np.int64), np.full(self._cells, amount(self.worst))
        edges = self.reach[0] + self._width * np.arange(self._cells + 1, dtype=np.float64)
        found = self.rdp(edges)
        return _amounts_down(found.low[1:]), _amounts_up(found.high[:-1]).clip(max=amount(self.worst))

    @cached_property
    def _nearest(self) -> Whole:
        """The largest difference between the cost of a number in each cell and a neighbour's cost (G,)."""
        least, most = self.costs
        return np.asarray(np.maximum(_largest_around(most) - least, most - _least_around(least)))

    @property
    def _width(self) -> float:
        return self.step * (1 + _ROUNDING) / CELLS

    @property
    def _cells(self) -> int:
        nearest, farthest = self.reach
        return max(1, math.ceil((farthest - nearest) / self._width))

    def _cell_of(self, numbers: Floats) -> Whole:
        index = np.floor((numbers - self.reach[0]) / self._width)
        return index.clip(0, self._cells - 1).astype(np.int64)


def argmax_term(votes: Floats, sigma: float, moves: Moves, cap: float = math.inf) -> Term:
    """Return GNMax's term of votes (Q, k): at its distance, k - 1 equal tails give the union bound.

    A query costs at most `cap`, which is valid for all votes.
    """
    classes = votes.shape[1]
    others = math.log(classes - 1)
    likeliest = math.log1p(-1 / classes)
    deviation = math.sqrt(2) * sigma
    scale = sigma / moves.sensitivity
    inside, outside = _inside(votes, moves.most)
    tails = log_ndtr((moves.lattice - (inside.max(axis=1, keepdims=True) - inside)) / deviation)
    tails[np.arange(len(votes)), inside.argmax(axis=1)] = -np.inf
    log_q = np.minimum(np.logaddexp.reduce(tails, axis=1), likeliest)
    wide = Interval.of(sigma) / moves.sensitivity
    most = Interval.of(classes - 1.0)
    largest = (most / float(classes)).log()

    def rdp(distance: Floats) -> Interval:
        log_q = (Interval.of(-distance).log_ndtr() + most.log()).minimum(largest)
        log_q = with_lattice_enclosed(log_q, sigma, moves.lattice, draws=classes)
        return theorem6_enclosed(log_q, wide, moves.order).minimum(cap)

    reach = (-float(ndtri_exp(likeliest - others)), moves.most / deviation)
    step = 2 * moves.moved / deviation
    distances = np.minimum(-ndtri_exp(log_q - others), reach[1] - 2 * outside / deviation)
    relative = 4 * LIBRARY + classes * 2.0**-51
    rounding = relative * (reach[1] + 3 * (1 + math.log(classes))) + _INVERSE * (1 + reach[1])
    worst = min(cap, moves.order / scale**2)
    return Term(distances, reach, step, rounding, rdp, worst, scale >= _MIN_SCALE)


def check_term(votes: Floats, threshold: float, sigma: float, moves: Moves, cap: float = math.inf) -> Term:
    """Return the term of a check of the largest count, which a vote moves by one; see `argmax_term`."""
    scale = math.sqrt(2) * sigma / moves.sensitivity
    wide = Interval.of(2.0).sqrt() * sigma / moves.sensitivity
    inside, outside = _inside(votes, moves.most)

    def rdp(distance: Floats) -> Interval:
        log_q = Interval.of(-distance).log_ndtr()
        log_q = with_lattice_enclosed(log_q, sigma, moves.lattice, draws=1)
        return theorem6_enclosed(log_q, wide, moves.order).minimum(cap)

    reach = -moves.lattice / sigma, max(abs(threshold), abs(threshold - moves.most)) / sigma
    own = (np.abs(inside.max(axis=1) - threshold) - moves.lattice) / sigma
    distances = np.minimum(own, reach[1] - outside / sigma)
    rounding = 2.0**-50 * (reach[1] + moves.lattice / sigma)
    proved = scale >= _MIN_SCALE and abs(threshold) + 2 * moves.most <= _HALF_RING
    worst = min(cap, moves.order / scale**2)
    return Term(distances, reach, moves.moved / sigma, rounding, rdp, worst, proved)


def laplace_term(votes: Floats, gamma: float, moves: Moves, cap: float) -> Term:
    """Return LNMax's term of votes (Q, k): its number is -log q, which a neighbour moves by 2 gamma a vote.

    A query costs at most `cap`, which is valid for all votes.
    """
    classes = votes.shape[1]
    rate = 2 * gamma
    close = Interval.of(rate) * moves.sensitivity
    inside, outside = _inside(votes, moves.most)
    unanimous = np.zeros((1, classes))
    unanimous[0, 0] = moves.most

    def rdp(distance: Floats) -> Interval:
        return theorem3_enclosed(Interval.of(-distance), close, moves.order).minimum(cap)

    farthest = -float(log_q_laplace(unanimous, gamma, moves.lattice)[0])
    reach = (-math.log1p(-1 / classes), farthest)
    distances = np.minimum(-log_q_laplace(inside, gamma, moves.lattice), farthest - rate * outside)
    rounding = (classes + 8) * LIBRARY * (gamma * moves.most + 3 * (1 + math.log(classes)))
    return Term(distances, reach, rate * moves.moved, rounding, rdp, cap, falls=True)


def fits_ring(votes: float) -> bool:
    """Return whether sums with their noise, at most this many votes from 0, wrap around in no ring."""
    return votes <= _HALF_RING


def _inside(votes: Floats, most: float) -> tuple[Floats, Floats]:
    """Return counts cut to 0..most (Q, k), and how far outside the farthest one lies (Q,).

    No ballots add up to counts outside; a shifted sum has such counts. The farther they lie, the more the
    query costs.
    """
    inside = votes.clip(0.0, most)
    return inside, np.abs(votes - inside).max(axis=1, initial=0.0)


def _largest_around(values: Whole) -> Whole:
    """Return the largest value within a step of each cell; values at the edge repeat beyond it."""
    return np.asarray(maximum_filter1d(values, 2 * CELLS + 1, mode="nearest"))


def _least_around(values: Whole) -> Whole:
    return np.asarray(minimum_filter1d(values, 2 * CELLS + 1, mode="nearest"))


def _amounts_up(rdp: Floats) -> Whole:
    return np.ceil(np.nextafter(rdp * _PER_RDP, np.inf)).astype(np.int64)


def _amounts_down(rdp: Floats) -> Whole:
    return np.floor(np.nextafter(rdp * _PER_RDP, -np.inf)).clip(min=0.0).astype(np.int64)
