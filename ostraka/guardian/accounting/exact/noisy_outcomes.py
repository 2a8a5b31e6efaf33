"""The releases that `exact` charges: their outcomes, bounds on the errors, and the largest divergence."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from ostraka.common.privacy import Influence
from ostraka.guardian.accounting.numerics.argmax_outcomes import QUADRATURE, Shifts, shifts
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.numerics.moments import largest_rdp
from ostraka.guardian.accounting.numerics.normal import log_cdf_step

BEYOND = 12.0
"""Deviations of noise beyond the distance between counts that are taken into account."""

MAX_CELL = 0.25
"""The largest product of step and reach, in deviations, for which the lattice's error is proved
(docs/accounting.md, exact, lattice, step 1)."""
ROUNDING = 2.0**-46
"""Relative error of the library's logarithms (`ostraka.guardian.accounting.numerics.intervals`)."""


@dataclass(frozen=True)
class Part:
    """One release of a query: its outcomes, and a bound (Q,) on the error of their log probabilities."""

    shifts: Shifts
    error: Floats


def argmax_part(votes: Floats, sigma: float, moved: float, lattice: float) -> Part:
    """Return the outcomes of GNMax, by class."""
    reach = (np.ptp(votes, axis=1) + 2 * moved) / sigma
    return Part(shifts(votes, sigma, moved), _error(lattice / sigma, reach, draws=votes.shape[1]))


@dataclass(frozen=True)
class NoisyCheck:
    """Whether the largest of `values` (Q, k) reaches a threshold with noise; all numbers are in votes."""

    values: Floats
    threshold: float
    sigma: float
    lattice: float

    def of(self, rows: NDArray[np.intp]) -> NoisyCheck:
        """Return the check of some queries."""
        return replace(self, values=self.values[rows])

    def move_vote(self, weight: float) -> Part:
        """Return the outcomes passed and failed after one vote of `weight` moved from a to b."""
        rise = _largest_moved(self.values, weight) - self.values.max(axis=1)[:, None, None]
        return self._part(rise, weight)

    def within(self, reach: float) -> Part:
        """Return the outcomes after the largest value fell (a = 0) or rose (a = 1) by `reach`."""
        ends = np.array([[-reach], [reach]])
        return self._part(np.broadcast_to(ends, (len(self.values), *ends.shape)), reach)

    def _part(self, rise: Floats, reach: float) -> Part:
        """Return the outcomes for largest values that rise by `rise` (Q, a, b), at most `reach`."""
        z = (self.values.max(axis=1) - passes_from(self.threshold, self.lattice)) / self.sigma
        by = rise / self.sigma
        change = [log_cdf_step(z[:, None, None], by), log_cdf_step(-z[:, None, None], -by)]
        log_p = np.stack([log_ndtr(z), log_ndtr(-z)], axis=-1)
        error = _error(self.lattice / self.sigma, np.abs(z) + reach / self.sigma, draws=1)
        return Part(Shifts(log_p, np.stack(change, axis=-1)), error)


def passes_from(threshold: float, lattice: float) -> float:
    """Return the passing threshold: on a lattice half a step below the first point at or above `threshold`.

    On a lattice every draw is spread evenly over its step (docs/accounting.md, exact, lattice, step 3).
    """
    return threshold if lattice == 0 else (math.ceil(threshold / lattice) - 0.5) * lattice


def _largest_moved(votes: Floats, moved: float) -> Floats:
    """Return the largest count (Q, a, b) after `moved` votes went from a to b."""
    ordered = np.sort(votes, axis=1)
    leads = np.arange(votes.shape[1]) == votes.argmax(axis=1)[:, None]
    others = np.where(leads, ordered[:, -2:-1], ordered[:, -1:])
    return np.maximum(np.maximum(others, votes - moved)[:, :, None], (votes + moved)[:, None, :])


def _error(step: float, reach: Floats, draws: int) -> Floats:
    """Bound the error (Q,) for noise on steps of `step` deviations and counts `reach` deviations apart.

    The error is 0 for continuous noise, as in the papers' values, and infinite for steps so wide that nothing
    is proved.
    """
    if step == 0:
        return np.zeros_like(reach)
    far = reach + BEYOND
    discrete = np.where(step * far <= MAX_CELL, draws * (step * (far + 1)) ** 2 / 2, np.inf)
    # Logarithms of outcomes are about as large as 1 + reach^2; four sums make up one change of them.
    return discrete + 4 * QUADRATURE + ROUNDING * (1 + reach**2)


_PIECES = 8
"""How many times smaller the move is that bounds the reverse direction (docs/accounting.md, m = 8). A larger
number costs digits and gains little."""


def argmax_rdp(
    part: Callable[[float], Part], moves: NDArray[np.bool_], orders: Floats, influence: Influence
) -> Floats:
    """Return the largest divergence (Q, R) of an argmax over all neighbours and in both directions.

    `part` returns the outcomes after so many votes moved from a to b, and `moves` (Q, a, b) are the pairs to
    try. One vote moves as a whole; so do several votes between two classes, because moving fewer costs less.
    """
    whole = part(influence.sensitivity)
    if influence.votes == 1 or moves.shape[1] <= 2:
        return whole_move_rdp(whole, moves, orders)
    forwards = largest_rdp(whole.shifts, moves, orders, both=False)
    return np.maximum(
        _infinite_where_unknown(forwards) + error_rdp(whole.error, orders),
        _backwards(part, whole.error, moves, orders, influence),
    )


def whole_move_rdp(part: Part, moves: NDArray[np.bool_], orders: Floats) -> Floats:
    """Return the largest divergence (Q, R) of one release over `moves` (Q, a, b), in both directions."""
    return _infinite_where_unknown(largest_rdp(part.shifts, moves, orders)) + error_rdp(part.error, orders)


def check_rdp(check: NoisyCheck, moves: NDArray[np.bool_], orders: Floats, influence: Influence) -> Floats:
    """Return the largest divergence (Q, R) of a check; several votes move its number at most either way."""
    if influence.votes == 1:
        outcomes = check.move_vote(influence.weight)
    else:
        outcomes = check.within(influence.sensitivity)
        moves = np.ones(outcomes.shifts.change.shape[:3], dtype=np.bool_)
    return whole_move_rdp(outcomes, moves, orders)


def error_rdp(error: Floats, orders: Floats) -> Floats:
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
    ahead = _infinite_where_unknown(largest_rdp(small.shifts, moves, higher, both=False)) + error_rdp(
        error, higher
    )
    return np.asarray(ahead * (_PIECES * orders / (orders - 1)))


def _infinite_where_unknown(rdp: Floats) -> Floats:
    return np.nan_to_num(rdp, nan=np.inf)
