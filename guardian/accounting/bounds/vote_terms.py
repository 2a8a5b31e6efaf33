"""Queries whose theorem6 rdp is one falling function of a number that a vote moves by one step at most.

The number is the distance, in deviations of the noise, at which the bound on another outcome lies.
docs/accounting-smooth.md proves the step, and that the function falls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri_exp

from ostraka.guardian.accounting.bounds.gnmax_rdp import with_lattice
from ostraka.guardian.accounting.bounds.theorem6 import theorem6
from ostraka.guardian.accounting.numerics.arguments import Floats

_CELLS = 32
"""Cells of the grid in one step."""
ROUNDING = 1e-6
"""By how much steps and sums are widened, relative, for rounding."""
_LEAST_SCALE = 2.0
_HALF_RING = 2.0**15
"""Votes at which the narrowest ring wraps around: so far outside a check costs the worst case on both sides,
unless its threshold is as large."""


@dataclass(frozen=True)
class Moves:
    """What a unit pays by, and what a neighbour can change; all of it public.

    Attributes:
        order: Renyi order.
        sensitivity: what the unit that pays can change in one query, in votes.
        moved: what any unit can change in one query, at least `sensitivity`.
        most: weight of all votes on one query, at most.
        lattice: step of the noise in votes; 0 for continuous noise.
    """

    order: float
    sensitivity: float
    moved: float
    most: float
    lattice: float = 0.0


@dataclass(frozen=True)
class Term:
    """Some queries and their function.

    Attributes:
        distances: each query's number (Q,).
        reach: the least and the largest number that votes can lead to; beyond, the function is cut off.
        step: what a neighbour moves a number by at most.
        rdp: the function, from numbers (G,) to costs (G,).
        worst: what a neighbour may change a cost by where the function is not proved to fall, else None.
    """

    distances: Floats = field(repr=False)
    reach: tuple[float, float]
    step: float
    rdp: Callable[[Floats], Floats] = field(repr=False)
    worst: float | None

    def total(self) -> float:
        """Return the cost of all queries."""
        return float(self.rdp(np.maximum(self.distances, self.reach[0])).sum())

    def limit(self) -> float:
        """Return what one record changes of the total at most, whatever the votes are."""
        return float(self._drops().max() * len(self.distances))

    def changes(self) -> Iterator[float]:
        """Yield the largest change of the total by one record at histograms 0, 1, 2, ... votes away.

        Never below what it is, and at most that of the next distance for any neighbour. The work depends on
        `reach`, `step` and the number of queries alone.
        """
        drops = self._drops()
        counts = np.bincount(self._cells(len(drops)), minlength=len(drops)).astype(np.float64)
        largest = drops
        for cells in range(1, _CELLS + 1):
            largest = np.maximum(largest, _shifted(drops, cells))
        while True:
            yield float(largest @ counts)
            beside = np.maximum(_shifted(largest, _CELLS), _shifted(largest, -_CELLS))
            largest = np.maximum(largest, beside)

    @property
    def _width(self) -> float:
        return self.step * (1 + ROUNDING) / _CELLS

    def _cells(self, count: int) -> NDArray[np.int64]:
        index = np.floor((self.distances - self.reach[0]) / self._width)
        return index.clip(0, count - 1).astype(np.int64)

    def _drops(self) -> Floats:
        """Return what the function falls by at most within one step from a point of each cell (G,)."""
        nearest, farthest = self.reach
        count = max(1, math.ceil((farthest - nearest) / self._width))
        if self.worst is not None:
            return np.full(count, self.worst)
        values = self.rdp(nearest + self._width * np.arange(count + _CELLS + 1, dtype=np.float64))
        return np.maximum(values[:count] - values[_CELLS + 1 :], 0.0)


def argmax_term(votes: Floats, sigma: float, moves: Moves, cap: float = math.inf) -> Term:
    """Return GNMax's term of votes (Q, k): k - 1 equal tails at the distance are the union bound of them.

    A query costs at most `cap`, which holds for all votes.
    """
    classes = votes.shape[1]
    others, likeliest = math.log(classes - 1), math.log1p(-1 / classes)
    deviation, scale = math.sqrt(2) * sigma, sigma / moves.sensitivity
    orders = np.array([moves.order])
    inside, outside = _inside(votes, moves.most)
    tails = log_ndtr((moves.lattice - (inside.max(axis=1, keepdims=True) - inside)) / deviation)
    tails[np.arange(len(votes)), inside.argmax(axis=1)] = -np.inf
    log_q = np.minimum(np.logaddexp.reduce(tails, axis=1), likeliest)

    def rdp(distance: Floats) -> Floats:
        log_q = np.minimum(others + log_ndtr(-distance), likeliest)
        cost = theorem6(with_lattice(log_q, sigma, moves.lattice, draws=classes), scale, orders)
        return np.minimum(cost[:, 0], cap)

    reach, step = (-float(ndtri_exp(likeliest - others)), moves.most / deviation), 2 * moves.moved / deviation
    distances = np.minimum(-ndtri_exp(log_q - others), reach[1] - 2 * outside / deviation)
    worst = None if scale >= _LEAST_SCALE else min(cap, moves.order / scale**2)
    return Term(distances, reach, step, rdp, worst)


def check_term(votes: Floats, threshold: float, sigma: float, moves: Moves, cap: float = math.inf) -> Term:
    """Return the term of a check of the largest count, which a vote moves by one; see `argmax_term`."""
    scale, orders = math.sqrt(2) * sigma / moves.sensitivity, np.array([moves.order])
    inside, outside = _inside(votes, moves.most)

    def rdp(distance: Floats) -> Floats:
        log_q = np.asarray(log_ndtr(-distance), dtype=np.float64)
        cost = theorem6(with_lattice(log_q, sigma, moves.lattice, draws=1), scale, orders)
        return np.minimum(cost[:, 0], cap)

    reach = -moves.lattice / sigma, max(abs(threshold), abs(threshold - moves.most)) / sigma
    own = (np.abs(inside.max(axis=1) - threshold) - moves.lattice) / sigma
    distances = np.minimum(own, reach[1] - outside / sigma)
    proved = scale >= _LEAST_SCALE and abs(threshold) + 2 * moves.most <= _HALF_RING
    worst = None if proved else min(cap, moves.order / scale**2)
    return Term(distances, reach, moves.moved / sigma, rdp, worst)


def _inside(votes: Floats, most: float) -> tuple[Floats, Floats]:
    """Return counts cut to 0..most (Q, k), and how far outside the farthest one lies (Q,).

    No ballots add up to counts outside; a shifted sum has some. The farther they lie, the dearer the query.
    """
    inside = votes.clip(0.0, most)
    return inside, np.abs(votes - inside).max(axis=1, initial=0.0)


def _shifted(values: Floats, cells: int) -> Floats:
    """Return `values` moved to the right by so many cells, 0 where there were none."""
    moved = np.zeros_like(values)
    if cells >= 0:
        moved[cells:] = values[: max(0, len(values) - cells)]
    else:
        moved[:cells] = values[-cells:]
    return moved
