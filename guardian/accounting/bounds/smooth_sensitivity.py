"""Smooth sensitivity of a theorem6 total, and the cost of publishing it with noise.

The rdp of a query depends on its votes through one number that a neighbour moves by at most one step: the
distance, in deviations of the noise, at which its bound on another outcome lies. What a vote can change at
any histogram within so many steps is read off that one function. docs/accounting-mechanisms.md proves it;
the published version of 002 has other bounds for the same purpose in its Appendix B.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtri_exp

from ostraka.common.privacy import InputError
from ostraka.guardian.accounting.bounds.gnmax_rdp import with_lattice
from ostraka.guardian.accounting.bounds.theorem6 import theorem6
from ostraka.guardian.accounting.numerics.arguments import (
    Floats,
    check_answered,
    check_lattice,
    check_orders,
    check_scalar,
    check_votes,
)

_CELLS = 32
_ROUNDING = 1e-6
_LEAST_SCALE = 2.0


def smooth_sensitivity(
    votes: ArrayLike,
    sigma: float,
    order: float,
    beta: float,
    *,
    threshold: float | None = None,
    sigma1: float | None = None,
    answered: ArrayLike | None = None,
    sensitivity: float = 1.0,
    lattice: float = 0.0,
) -> float:
    """Return a beta-smooth bound on what one record changes in the total rdp under "theorem6".

    The total is that of `gnmax_rdp`, or with a check of `confident_rdp`, summed over queries at one order. A
    record may move its vote in every query. Own derivation, proved in docs/accounting-mechanisms.md; an
    upper bound on the smooth sensitivity of the published version of 002, Appendix B.

    Args:
        votes: counts (Q, k), not negative.
        sigma: noise on each count, in votes (sigma2 where there is a check).
        order: Renyi order, above 1.
        beta: how fast the bound may change: by a factor of at most exp(beta) between neighbours.
        threshold: what the largest count must reach, where there is a check.
        sigma1: noise of that check.
        answered: which queries passed, bool (Q,), where there is a check; taken as known.
        sensitivity: what one unit can change in one query, in votes.
        lattice: step of the noise in votes; 0 for continuous noise.

    Raises:
        InputError: where an argument is malformed.
    """
    counts, at = check_votes(votes), check_orders([order])
    rate, step = check_scalar("beta", beta), check_lattice(lattice)
    unit = check_scalar("sensitivity", sensitivity)
    terms = []
    if threshold is None and sigma1 is None and answered is None:
        mask = np.ones(len(counts), dtype=np.bool_)
    elif threshold is None or sigma1 is None or answered is None:
        raise InputError("threshold", "must be given together with sigma1 and answered, or none of them")
    else:
        mask = check_answered(answered, len(counts))
        check_scalar("threshold", threshold, positive=False)
        terms.append(_check_term(counts, threshold, check_scalar("sigma1", sigma1), unit, at, step))
    terms.append(_argmax_term(counts[mask], check_scalar("sigma", sigma), unit, at, step))
    return _largest([term for term in terms if term.cells.size], rate)


def sanitized_rdp(beta: float, sigma: float, orders: ArrayLike) -> Floats:
    """Return the rdp (R,) of publishing a number with noise `sigma` times its beta-smooth sensitivity.

    The largest divergence of two Gaussians whose deviations are within exp(beta) of each other and whose
    means differ by at most the smaller smooth sensitivity: exact, own derivation, proved in
    docs/accounting-mechanisms.md. Infinite at orders a with (a - 1) (exp(2 beta) - 1) >= 1.
    """
    rate, at = check_scalar("beta", beta), check_orders(orders)
    noise = check_scalar("sigma", sigma)
    left = 1 - (at - 1) * math.expm1(2 * rate)
    inside = np.where(left > 0, left, 1.0)
    rdp = at / (2 * noise**2 * inside) - np.log(inside) / (2 * (at - 1)) - rate
    return np.asarray(np.where(left > 0, rdp, np.inf))


def sanitized(total: float, smooth: float, sigma: float, normal: Callable[[], float]) -> float:
    """Return `total` with noise of `sigma` times its smooth sensitivity, drawn from N(0, 1) by `normal`.

    Publish few digits of it: the low bits of floating-point noise tell more than its distribution does.
    """
    return total + smooth * sigma * normal()


@dataclass(frozen=True)
class _Term:
    """Queries whose rdp is one falling function of a number that a neighbour moves by _CELLS cells at most.

    `drops` (G,) bounds what the function falls by within that many cells from each cell on; `cells` are the
    queries' own, and `times` how many share one. The grid reaches as far as votes can, whatever they are.
    """

    drops: Floats
    cells: NDArray[np.int64]
    times: NDArray[np.int64]


def _argmax_term(votes: Floats, sigma: float, unit: float, orders: Floats, lattice: float) -> _Term:
    """Return GNMax's: the sum of k - 1 equal tails at this distance is the union bound of its votes."""
    classes = votes.shape[1]
    others, cap = math.log(classes - 1), math.log1p(-1 / classes)
    deviation = math.sqrt(2) * sigma
    tails = log_ndtr((lattice - (votes.max(axis=1, keepdims=True) - votes)) / deviation)
    tails[np.arange(len(votes)), votes.argmax(axis=1)] = -np.inf
    log_q = np.minimum(np.logaddexp.reduce(tails, axis=1), cap)

    def rdp(distance: Floats) -> Floats:
        log_q = with_lattice(np.minimum(others + log_ndtr(-distance), cap), sigma, lattice, draws=classes)
        return theorem6(log_q, sigma / unit, orders)[:, 0]

    reach = -float(ndtri_exp(cap - others)), float(votes.sum(axis=1).max(initial=0.0)) / deviation
    worst = None if sigma / unit >= _LEAST_SCALE else float(orders[0]) * (unit / sigma) ** 2
    return _term(-ndtri_exp(log_q - others), reach, 2 * unit / deviation, rdp, worst)


def _check_term(
    votes: Floats, threshold: float, sigma: float, unit: float, orders: Floats, lattice: float
) -> _Term:
    """Return the check's: one vote moves the largest count by at most one."""
    scale = math.sqrt(2) * sigma / unit

    def rdp(distance: Floats) -> Floats:
        log_q = np.asarray(log_ndtr(-distance), dtype=np.float64)
        return theorem6(with_lattice(log_q, sigma, lattice, draws=1), scale, orders)[:, 0]

    most = float(votes.sum(axis=1).max(initial=0.0))
    nearest, farthest = max(0.0, threshold - most, -threshold), max(abs(threshold), abs(threshold - most))
    reach = (nearest - lattice) / sigma, farthest / sigma
    distances = (np.abs(votes.max(axis=1) - threshold) - lattice) / sigma
    worst = None if scale >= _LEAST_SCALE else float(orders[0]) / scale**2
    return _term(distances, reach, unit / sigma, rdp, worst)


def _term(
    distances: Floats,
    reach: tuple[float, float],
    step: float,
    rdp: Callable[[Floats], Floats],
    worst: float | None,
) -> _Term:
    """Return a term on a grid over the distances that moving votes can lead to, `reach`.

    Where the function is not proved to fall, any change up to its `worst` value is allowed for.
    """
    nearest, farthest = reach
    width = step * (1 + _ROUNDING) / _CELLS
    count = max(1, math.ceil((farthest - nearest) / width))
    index = np.floor((distances - nearest) / width).clip(0, count - 1).astype(np.int64)
    cells, times = np.unique(index, return_counts=True)
    if worst is not None:
        return _Term(np.full(count, worst), cells, times)
    values = rdp(nearest + width * np.arange(count + _CELLS + 1, dtype=np.float64))
    return _Term(np.maximum(values[:count] - values[_CELLS + 1 :], 0.0), cells, times)


def _largest(terms: list[_Term], beta: float) -> float:
    """Return the largest exp(-beta d) times what one record changes at d votes' distance, over d."""
    windows = [_Windows(term) for term in terms]
    limit = sum(window.limit for window in windows)
    best, distance, grown = 0.0, 0, 0.0
    while grown < limit and math.exp(-beta * distance) * limit > best:
        grown = sum(window.total(distance) for window in windows)
        best = max(best, math.exp(-beta * distance) * grown)
        distance += 1
    return best * (1 + _ROUNDING)


class _Windows:
    """The largest drop near each query, by doubling: maxima of 1, 2, 4, ... cells."""

    def __init__(self, term: _Term) -> None:
        self.term, self.levels = term, [term.drops]
        while 2 ** len(self.levels) <= len(term.drops):
            half, last = 2 ** (len(self.levels) - 1), self.levels[-1]
            self.levels.append(np.maximum(last[:-half], last[half:]))
        self.limit = float(term.drops.max() * term.times.sum())

    def total(self, distance: int) -> float:
        """Return the sum over queries of the largest drop that begins within `distance` votes of it."""
        low = np.maximum(self.term.cells - (distance + 1) * _CELLS, 0)
        high = np.minimum(self.term.cells + distance * _CELLS, len(self.term.drops) - 1)
        level = np.floor(np.log2(high - low + 1)).astype(np.int64)
        largest = np.empty(len(low))
        for i in np.unique(level).tolist():
            here = level == i
            table = self.levels[i]
            largest[here] = np.maximum(table[low[here]], table[high[here] + 1 - 2**i])
        return float(largest @ self.term.times)
