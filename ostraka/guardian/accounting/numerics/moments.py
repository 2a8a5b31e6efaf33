"""Renyi moments of releases, and their largest value over neighbours.

Let t_j = log R_j/P_j. Because P and R both sum to one, sum_j P_j^(1-b) R_j^b - 1 is sum_j P_j g_b(t_j) with
g_b(t) = e^(bt) - 1 - b (e^t - 1), which is never negative: nothing cancels between outcomes. b = a gives (a -
1) D_a(R || P), b = 1 - a gives (a - 1) D_a(P || R).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ostraka.guardian.accounting.numerics.argmax_outcomes import Shifts
from ostraka.guardian.accounting.numerics.arguments import Floats

Indices = NDArray[np.intp]

_BLOCK = 2048
"""Candidates worked on together, so that memory does not grow with their number."""
_MARKS = 5
"""Orders at which every candidate is tried: more of them exclude more candidates by chords, but cost more
themselves."""
_FEW = 4
"""Orders between two others that are tried one by one: halving so few would save nothing."""
_NEAR = 1e-2
"""Exponents below which five terms of the series are used: the sixth is 4e-14 of the first, and above it the
difference of two exponentials keeps as many digits."""
_LARGE = 40.0
"""Exponents up to which sums keep their excess over 1: in e^40 the 1 is below a double's last digit."""


def largest_rdp(part: Shifts, neighbours: NDArray[np.bool_], orders: Floats, *, both: bool = True) -> Floats:
    """Return the largest D(P || R), and with `both` D(R || P), over `neighbours` (Q, a, b), as (Q, R)."""
    at, back = np.unique(orders, return_inverse=True)
    best = _Search(part, neighbours, at, 2 if both else 1).run()
    return np.asarray((best / (at - 1)[:, None])[back].T, dtype=np.float64)


class _Search:
    """The largest log moment by order (R) and query (Q).

    Candidates are all neighbours, forwards (D(P || R)) and, for two directions, backwards. A log moment is
    convex in the order, so between two orders it lies below its chord. Candidates whose chord lies below the
    value that another candidate reaches are excluded there, and the interval is halved for the rest.
    """

    def __init__(self, part: Shifts, neighbours: NDArray[np.bool_], orders: Floats, directions: int) -> None:
        query, a, b = np.nonzero(neighbours)
        self.log_p = part.log_p[query].T
        self.change = part.change[query, a, b].T
        self.query = np.tile(query, directions)
        self.pairs = len(query)
        self.orders = orders
        self.best = np.zeros((len(orders), len(neighbours)))

    def run(self) -> Floats:
        """Return the largest log moments (R, Q)."""
        spaced = 1 + np.geomspace(self.orders[0] - 1, self.orders[-1] - 1, _MARKS)
        marks = np.unique(np.searchsorted(self.orders, spaced).clip(0, len(self.orders) - 1))
        everyone = np.arange(len(self.query))
        known = self._try(everyone, marks)
        leaders = np.unique(np.nonzero(known >= self.best[marks][:, self.query])[1])
        self._try(leaders, np.arange(len(self.orders)))
        for i in range(len(marks) - 1):
            self._refine(int(marks[i]), int(marks[i + 1]), everyone, known[i], known[i + 1])
        return self.best

    def _refine(self, low: int, high: int, chosen: Indices, at_low: Floats, at_high: Floats) -> None:
        inside = np.arange(low + 1, high)
        if not inside.size:
            return
        weight = ((self.orders[inside] - self.orders[low]) / (self.orders[high] - self.orders[low]))[:, None]
        chord = at_low * (1 - weight) + at_high * weight
        open_ = (chord > self.best[inside][:, self.query[chosen]]).any(axis=0)
        chosen = chosen[open_]
        at_low = at_low[open_]
        at_high = at_high[open_]
        if inside.size <= _FEW:
            self._try(chosen, inside)
            return
        middle = self._middle(low, high)
        at_middle = self._try(chosen, np.array([middle]))[0]
        self._refine(low, middle, chosen, at_low, at_middle)
        self._refine(middle, high, chosen, at_middle, at_high)

    def _middle(self, low: int, high: int) -> int:
        """Return an index in between, the nearest to the geometric mean of order - 1."""
        mean = 1 + math.sqrt((self.orders[low] - 1) * (self.orders[high] - 1))
        return int(np.clip(np.searchsorted(self.orders, mean), low + 1, high - 1))

    def _try(self, chosen: Indices, where: Indices) -> Floats:
        """Return the log moments (len(where), C) of candidates and keep the largest, infinite if unknown."""
        values = np.zeros((len(where), len(chosen)))
        for start in range(0, len(chosen), _BLOCK):
            block = slice(start, start + _BLOCK)
            values[:, block] = self._moments(chosen[block], self.orders[where])
        values[~np.isfinite(values)] = np.inf
        rows = self.best[where]
        for row, value in zip(rows, values, strict=True):
            np.maximum.at(row, self.query[chosen], value)
        self.best[where] = rows
        return values

    def _moments(self, chosen: Indices, orders: Floats) -> Floats:
        values = np.empty((len(orders), len(chosen)))
        forwards = chosen < self.pairs
        for mine, powers in ((forwards, 1 - orders), (~forwards, orders)):
            pairs = chosen[mine] % max(self.pairs, 1)
            values[:, mine] = log_moments(self.log_p[:, pairs], self.change[:, pairs], powers)
        return values


def log_moments_of(part: Shifts, moves: tuple[Indices, ...], powers: Floats) -> Floats:
    """Return log moments (R, C) of the `moves` query, a and b, each (C,), at `powers` (R,)."""
    values = np.empty((len(powers), len(moves[0])))
    for start in range(0, len(moves[0]), _BLOCK):
        query, a, b = (index[start : start + _BLOCK] for index in moves)
        values[:, start : start + _BLOCK] = log_moments(
            part.log_p[query].T, part.change[query, a, b].T, powers
        )
    return values


def log_moments(log_p: Floats, change: Floats, powers: Floats) -> Floats:
    """Return log sum_j P_j e^(b t_j) as (R, C), for outcomes t (J, C) and powers b (R,)."""
    with np.errstate(over="ignore"):
        p = np.exp(log_p)
        grown = np.expm1(change)
        size = np.abs(change)
    widest = float(size.max(initial=0.0))
    values = np.empty((len(powers), change.shape[1]))
    for i, b in enumerate(powers.tolist()):
        with np.errstate(over="ignore", invalid="ignore"):
            terms = p * _excess(b, change, size, grown)
            if abs(b) * widest <= _LARGE:
                values[i] = np.log1p(terms.sum(axis=0))
            else:
                values[i] = _large(log_p, b * change, p * (1 + b * grown), terms)
    return values


def _large(log_p: Floats, bt: Floats, less: Floats, terms: Floats) -> Floats:
    """Return log moments where e^(bt) alone, or even P e^(bt), may overflow."""
    far = log_p + bt
    top = far.max(axis=0)
    finite = np.where(bt > _LARGE, np.exp(np.minimum(far, _LARGE)) - less, terms)
    huge = top + np.log(np.exp(far - top).sum(axis=0))
    moments: Floats = np.where(top > _LARGE, huge, np.log1p(finite.sum(axis=0)))
    return moments


def _excess(b: float, t: Floats, size: Floats, grown: Floats) -> Floats:
    """Return g_b(t); by its series where e^(bt) - 1 and b (e^t - 1) = b `grown` nearly cancel."""
    terms = [sum(b**i for i in range(m - 1)) / math.factorial(m) for m in range(2, 7)]
    series = np.full_like(t, terms.pop())
    while terms:
        series = series * t + terms.pop()
    direct = np.expm1(b * t) - b * grown
    return np.where(size * max(abs(b), 1.0) < _NEAR, (b * (b - 1)) * series * t * t, direct)
