"""Charges of Confident by the outcome of its check: the cheapest pair of charges that a filter may take.

For every neighbour and both directions let F and G be the parts of the joint moment sum P^a R^(1-a) that
failed and passed checks contribute. A pair (x, y), fixed before the outcome is known, satisfies the condition
of a filter if F e^(-(a-1)x) + G e^(-(a-1)y) <= 1 for all of them (docs/accounting.md). The pair with the
least expected charge is taken.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ostraka.guardian.accounting.numerics.argmax_outcomes import Shifts
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.numerics.moments import log_moments_of

_HALVINGS = 60
"""Halvings of the interval of a charge: 2^-60 of the largest is below the resolution of a double."""
_TINY = 1e-300
"""Replaces a divisor of 0: smaller than any part of a moment that matters, and a normal double."""


@dataclass(frozen=True)
class Charges:
    """The cost of a query by its check's outcome: `failed` (Q, R) and `passed` (Q, R)."""

    failed: Floats
    passed: Floats

    def of(self, rows: NDArray[np.intp]) -> Charges:
        """Return the charges of some queries."""
        return Charges(self.failed[rows], self.passed[rows])

    def put(self, rows: NDArray[np.intp], charges: Charges) -> None:
        """Replace the charges of some queries."""
        self.failed[rows] = charges.failed
        self.passed[rows] = charges.passed


@dataclass(frozen=True)
class _Moments:
    """Log moments (Q, N) at one order for N neighbours in both directions, padded with no change.

    `change` is b log R/P of the outcome "failed" by itself, where b is a or 1 - a. `log_fail` and `log_pass`
    are the parts of the check's moment.
    """

    check: Floats
    argmax: Floats
    change: Floats
    log_fail: Floats
    log_pass: Floats

    def of(self, rows: NDArray[np.bool_]) -> _Moments:
        """Return the moments of some queries."""
        return _Moments(*(getattr(self, field.name)[rows] for field in fields(self)))


def outcome_charges(
    check: Shifts, argmax: Shifts, neighbours: NDArray[np.bool_], orders: Floats, most: Charges
) -> Charges:
    """Return a pair of charges that is valid for all `neighbours` (Q, a, b) and both directions.

    Of all pairs of at least 0 and at most `most` it has the least expected charge; it is infinite where none
    is found. Own derivation, proved in docs/accounting.md.
    """
    charges = Charges(np.empty_like(most.failed), np.empty_like(most.passed))
    moved = _Neighbours(check, argmax, neighbours)
    for i, order in enumerate(orders.tolist()):
        moments = moved.at(order)
        near = (moments.check + moments.argmax).max(axis=1) <= 1
        for rows, search in ((near, _Near), (~near, _Far)):
            pair = search(moments.of(rows), order - 1).cheapest(most.failed[rows, i], most.passed[rows, i])
            charges.failed[rows, i], charges.passed[rows, i] = pair
    return charges


class _PairSearch(ABC):
    """Finds the cheapest pair by halving an interval of charges for "failed".

    Given that charge, the least charge for "passed" follows from the most demanding neighbour. Let F be its
    moment and p the chance to fail: a smaller charge for "failed" costs more exactly if F e^(-(a-1)x) > p.
    """

    def __init__(self, moments: _Moments, rate: float) -> None:
        self.moments = moments
        self.rate = rate

    @abstractmethod
    def _requirement(self, failed: Floats) -> Floats:
        """Return (Q, N) numbers that grow with the charge for "passed" that each neighbour needs."""

    @abstractmethod
    def _charge(self, needed: Floats) -> Floats:
        """Return (a-1) times the charge (Q,) for "passed"."""

    def cheapest(self, most_failed: Floats, most_passed: Floats) -> tuple[Floats, Floats]:
        """Return charges (Q,) for "failed" and "passed", infinite where `most` is too small."""
        low = np.zeros_like(most_failed)
        high = np.maximum(most_failed, 0.0)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            passed, more = self._passing_charge(middle)
            more |= passed > most_passed
            low = np.where(more, middle, low)
            high = np.where(more, high, middle)
        passed, _ = self._passing_charge(high)
        fits = (passed <= most_passed) & (high <= most_failed)
        return np.where(fits, high, np.inf), np.where(fits, passed, np.inf)

    def _passing_charge(self, failed: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the least charge (Q,) for "passed" given `failed`, and whether a larger `failed` pays."""
        needed = self._requirement(failed)
        row = np.arange(len(failed))
        tightest = needed.argmax(axis=1)
        passed = np.maximum(self._charge(needed[row, tightest]), 0.0) / self.rate
        return passed, (passed > 0) & (self.moments.change[row, tightest] > self.rate * failed)


class _Near(_PairSearch):
    """Moments near 1: computes with their excess over 1, so that small charges keep their digits."""

    def __init__(self, moments: _Moments, rate: float) -> None:
        super().__init__(moments, rate)
        passed = np.exp(moments.log_pass)
        self.excess = np.expm1(moments.check) + passed * np.expm1(moments.argmax)
        self.failing = np.exp(moments.log_fail)
        self.passing = np.maximum(passed * np.exp(moments.argmax), _TINY)

    def _requirement(self, failed: Floats) -> Floats:
        spared = -np.expm1(-self.rate * failed)[:, None]
        return np.asarray((self.excess - self.failing * spared) / self.passing)

    def _charge(self, needed: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return -np.log1p(-np.minimum(needed, 1.0))


class _Far(_PairSearch):
    """Moments of any size, as logarithms."""

    def _requirement(self, failed: Floats) -> Floats:
        log_failing = np.minimum(self.moments.log_fail - self.rate * failed[:, None], 0.0)
        with np.errstate(divide="ignore"):
            left = np.log1p(-np.exp(log_failing))
        return np.asarray(self.moments.log_pass + self.moments.argmax - left)

    def _charge(self, needed: Floats) -> Floats:
        return needed


class _Neighbours:
    """The neighbours of every query, with their moments in one row for each query."""

    def __init__(self, check: Shifts, argmax: Shifts, allowed: NDArray[np.bool_]) -> None:
        self.check = check
        self.argmax = argmax
        self.moves = np.nonzero(allowed)
        self.query = self.moves[0]
        count = np.bincount(self.query, minlength=len(allowed))
        self.slot = np.arange(len(self.query)) - np.repeat(count.cumsum() - count, count)
        self.shape = (len(allowed), 2, int(count.max(initial=1)))

    def at(self, order: float) -> _Moments:
        """Return moments at one order, of D(P || R) and then of D(R || P)."""
        powers = np.array([1 - order, order])
        passed, failed = powers[:, None] * self.check.change[self.moves].T[:, None]
        change = self._rows(failed, -np.inf)
        return _Moments(
            check=self._rows(log_moments_of(self.check, self.moves, powers), 0.0),
            argmax=self._rows(log_moments_of(self.argmax, self.moves, powers), 0.0),
            change=change,
            log_fail=change + self.check.log_p[:, 1:],
            log_pass=self._rows(passed, -np.inf) + self.check.log_p[:, :1],
        )

    def _rows(self, values: Floats, padding: float) -> Floats:
        """Return values (2, C) as (Q, N)."""
        rows = np.full(self.shape, padding)
        rows[self.query, :, self.slot] = values.T
        return rows.reshape(len(rows), -1)
