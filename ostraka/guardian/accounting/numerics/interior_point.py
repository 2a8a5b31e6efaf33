"""The largest weighted sum of logarithms under linear limits, for many small problems at once.

A primal-dual interior-point method (Wright 1997, "Primal-Dual Interior-Point Methods", chapter 10) with a
fixed number of steps, each of which keeps every limit. The result is feasible, or 1 everywhere: callers need
not trust it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostraka.guardian.accounting.numerics.arguments import Floats

_STEPS = 16
"""This many steps come within about 1e-3 of the best expected charge (docs/accounting.md, Charges by the
released label)."""
_CENTRING = 0.1
"""The fraction of the gap that a step aims at: a smaller one would be faster with full steps, but it shortens
more of them."""
_SHORTER = 0.97
"""The fraction of the way to the nearest limit that a step goes, so that every slack stays above 0."""
_FIRST_GAP = 1e-2
"""Slack times multiplier at the start: a larger value costs steps, a smaller one starts close to the limits,
where steps are short."""
_MIN_GAP = 1e-13
"""The gap below which a problem stops: rounding, not the limits, would decide its direction."""
_MAX_LIMITS = 32
"""Number of limits of a problem that steps look at, the nearest ones; the others are checked at the end."""
_MARGIN = 2.0**-40
"""How far below the limits the result is scaled, relative: room for rounding in the final check."""


def largest_log_sum(weights: Floats, limits: Floats, low: Floats, high: Floats) -> Floats:
    """Return w (Q, n) that makes sum_i weights_i log w_i large, where w = 1 keeps all limits.

    Args:
        weights: of each variable (Q, n), not negative.
        limits: a matrix (Q, m, n) of numbers not negative; limits @ w is at most 1.
        low: the least value (Q, n) of each variable, in [0, 1].
        high: the largest, at least 1.

    w is 1 if no step gains anything, or if a limit is not a number.
    """
    known: NDArray[np.bool_] = np.asarray(np.isfinite(limits).all(axis=(1, 2)))
    limits = np.where(known[:, None, None], limits, 0.0)
    m = min(_MAX_LIMITS, limits.shape[1])
    near = np.argpartition(-limits.sum(axis=2), m - 1, axis=1)[:, :m]
    found = _Interior(weights, np.take_along_axis(limits, near[:, :, None], axis=1), low, high).run()
    return np.where(known[:, None], _feasible(weights, limits, low, high, found), 1.0)


def _feasible(weights: Floats, limits: Floats, low: Floats, high: Floats, found: Floats) -> Floats:
    """Scale the variables above their least value until every limit is kept; 1 where that gains nothing."""
    w = np.clip(np.nan_to_num(found, nan=1.0), low, high)
    # A variable at its least value stays there: scaled down, it would leave its own limit.
    fixed = w <= low * (1 + 1e-6)
    w = np.where(fixed, low, w)
    taken, free = (_times(limits, np.where(which, w, 0.0)) for which in (fixed, ~fixed))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scale = np.where(free > 0, (1 - taken) / free, np.inf).min(axis=1) * (1 - _MARGIN)
    w = np.where(fixed, w, np.minimum(w * scale[:, None], high))
    with np.errstate(divide="ignore", invalid="ignore"):
        gained = np.where(weights > 0, weights * np.log(w), 0.0).sum(axis=1)
    better = (gained > 0) & (scale > 0) & (w >= low).all(axis=1) & (_times(limits, w) <= 1).all(axis=1)
    return np.where(better[:, None], w, 1.0)


@dataclass
class _Side:
    """Slack of inequalities, and their multipliers; both positive."""

    slack: Floats
    dual: Floats

    def towards(self, centre: Floats, change: Floats) -> Floats:
        """Return the change of the multipliers for a change of the slack."""
        return np.asarray((centre - self.dual * (self.slack + change)) / self.slack)

    def gap(self) -> Floats:
        return np.asarray((self.slack * self.dual).sum(axis=1))


class _Interior:
    """The state of all problems; a problem without an interior, or a solved one, does not change."""

    def __init__(self, weights: Floats, limits: Floats, low: Floats, high: Floats) -> None:
        # Outcomes that never occur would leave Newton's matrix singular.
        self.weights = weights + 1e-14
        self.limits = limits
        # Just inside of w = 1, which keeps all limits, and away from a variable's own two limits.
        self.w = np.minimum(np.maximum(0.97, low + 0.3 * (1 - low)), (1 + high) / 2)
        slacks = 1 - _times(limits, self.w), self.w - low, high - self.w
        inside = np.all([(slack > 0).all(axis=1) for slack in slacks], axis=0)
        self.moving: NDArray[np.bool_] = inside
        usable = [np.where(inside[:, None], slack, 1.0) for slack in slacks]
        self.sides = [_Side(slack, _FIRST_GAP / slack) for slack in usable]
        self.count = sum(slack.shape[1] for slack in usable)

    def run(self) -> Floats:
        """Return the variables after all steps."""
        with np.errstate(all="ignore"):
            for _ in range(_STEPS):
                self._step()
        return self.w

    def _step(self) -> None:
        rows, below, above = self.sides
        gap = (rows.gap() + below.gap() + above.gap()) / self.count
        self.moving &= gap > _MIN_GAP
        centre = (_CENTRING * gap)[:, None]
        change = self._direction(centre)
        self.moving &= np.isfinite(change).all(axis=1)
        changes = -_times(self.limits, change), change, -change
        duals = [side.towards(centre, by) for side, by in zip(self.sides, changes, strict=True)]
        primal_step = self._length([(s.slack, by) for s, by in zip(self.sides, changes, strict=True)])
        dual_step = self._length([(s.dual, by) for s, by in zip(self.sides, duals, strict=True)])
        self.w = _advance(self.w, change, primal_step)
        for side, by, dual in zip(self.sides, changes, duals, strict=True):
            side.slack = _advance(side.slack, by, primal_step)
            side.dual = _advance(side.dual, dual, dual_step)

    def _direction(self, centre: Floats) -> Floats:
        """Return Newton's step (Q, n) towards the point where slack times multiplier is `centre`."""
        rows, below, above = self.sides
        n = self.w.shape[1]
        matrix = np.matmul(self.limits.swapaxes(1, 2) * (rows.dual / rows.slack)[:, None], self.limits)
        matrix[:, np.arange(n), np.arange(n)] += (
            self.weights / self.w**2 + below.dual / below.slack + above.dual / above.slack
        )
        push = self.weights / self.w + centre / below.slack - centre / above.slack
        push -= np.matmul((centre / rows.slack)[:, None], self.limits)[:, 0]
        usable = self.moving & np.isfinite(matrix).all(axis=(1, 2)) & np.isfinite(push).all(axis=1)
        matrix = np.where(usable[:, None, None], matrix, np.eye(n))
        push = np.where(usable[:, None], push, 0.0)
        try:
            step = np.linalg.solve(matrix, push[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:  # it names no problem: all of them keep their present values
            self.moving[:] = False
            return np.zeros_like(push)
        return np.asarray(step, dtype=np.float64)

    def _length(self, sides: list[tuple[Floats, Floats]]) -> Floats:
        """Return the fraction (Q,) of a step that keeps everything positive."""
        ends = [np.where(by < 0, -value / by, np.inf).min(axis=1) for value, by in sides]
        length = np.minimum(1.0, _SHORTER * np.min(ends, axis=0))
        return np.where(self.moving, length, 0.0)


def _times(limits: Floats, w: Floats) -> Floats:
    return np.asarray(np.matmul(limits, w[:, :, None])[:, :, 0])


def _advance(value: Floats, change: Floats, length: Floats) -> Floats:
    return np.where(length[:, None] > 0, value + length[:, None] * change, value)
