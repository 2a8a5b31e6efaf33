"""The outcomes of a noisy argmax, and how moving one vote shifts each of them.

Class j wins with probability P_j, the integral of phi(x - m_j) prod_i Phi(x - m_i) over x, i != j, with
counts m in units of the noise. Every number here is a trapezoid sum over a positive integrand, so it keeps
its digits even if it is very small. The gain and loss of a move are summed directly and never computed by
subtracting probabilities. docs/accounting.md derives the step and the reach.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.numerics.normal import log_cdf_gain, log_cdf_step, log_density
from ostraka.guardian.accounting.numerics.summation import Summation, summation

QUADRATURE = 1e-14
"""Relative error of one sum: half from the rule's step, half from where it is cut off."""

FARTHEST = 1e4
"""Counts further apart, in deviations, are charged the worst case: grids would grow without limit."""

REACH = 8.2
"""Deviations around a mode beyond which an integrand's mass is below 2 P(N >= 8.2), half of `QUADRATURE`
(docs/accounting.md, exact, reach)."""


@dataclass(frozen=True)
class Shifts:
    """Log probabilities (Q, k), and log R_j/P_j (Q, a, b, j) after a vote moved from a to b != a."""

    log_p: Floats
    change: Floats


def shifts(votes: Floats, sigma: float, moved: float) -> Shifts:
    """Return the outcomes of `votes` (Q, k), and the effect of moving `moved` votes from a to b."""
    gaps = (votes.max(axis=1, keepdims=True) - votes) / sigma
    spread = float(gaps.max(initial=0.0))
    how = summation(spread + typical(votes.shape[1]), moved / sigma)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return _Integrands(gaps, moved / sigma, grid(spread, votes.shape[1], moved / sigma), how).shifts()


def typical(classes: int) -> float:
    """Bound how far the likeliest largest draw of `classes` lies above the leading count, in deviations."""
    return math.sqrt(2 * math.log(classes))


def grid(spread: float, classes: int, shift: float) -> Floats:
    """Return equidistant points relative to the leading count, in units of the noise."""
    step = step_of_few(classes)
    # No mode lies below a quarter of the way from the lowest mean to the highest (docs/accounting.md, reach).
    left = -0.75 * spread - REACH - shift
    right = typical(classes) + REACH + shift
    return np.asarray(left + step * np.arange(math.ceil((right - left) / step) + 1), dtype=np.float64)


def step_of_few(factors: float) -> float:
    """Return the step for so many factors that limits the trapezoid rule's error to half of `QUADRATURE`."""
    return math.pi * math.sqrt(2 / (factors * math.log(4 / QUADRATURE)))


class _Integrands:
    """Factors of the integrands (Q, k, Z), in the form that `how` keeps them."""

    def __init__(self, gaps: Floats, shift: float, x: Floats, how: Summation) -> None:
        values, flat = np.unique(gaps, return_inverse=True)
        index: NDArray[np.intp] = flat.reshape(gaps.shape)
        z = x + values[:, None]
        log_cdf = np.asarray(log_ndtr(z), dtype=np.float64)[index]
        others = how.encode(log_cdf.sum(axis=1, keepdims=True) - log_cdf + math.log(x[1] - x[0]))
        fall = -log_cdf_step(z - shift, shift)
        self.how = how
        self.win = how.times(how.encode(log_density(z))[index], others)
        self.win_lowered = how.times(how.encode(log_density(z + shift))[index], others)
        self.win_raised = how.times(how.encode(log_density(z - shift))[index], others)
        self.rise = how.encode(log_cdf_step(z, shift))[index]
        self.gain = how.encode(log_cdf_gain(z, shift))[index]
        self.loss = how.encode(log_cdf_gain(z - shift, shift) + fall)[index]
        self.kept = how.encode(fall)[index]

    def shifts(self) -> Shifts:
        """Lower class a first, then raise class b, and add up the gain and loss of every outcome."""
        classes = self.win.shape[1]
        log_p = self.how.total(self.win)
        gain = self.how.dot(self.win, self.gain)
        drop = np.concatenate([self.loss, self.kept], axis=1)
        diagonal = np.arange(classes)
        gain[:, diagonal, diagonal] = -np.inf
        lost = self.how.dot(self.win_lowered, drop)
        given = lost[..., :classes]
        log_r = np.empty((len(log_p), classes, classes, classes))
        ratio = np.empty_like(log_r)
        for j in range(classes):
            lifted = self.how.times(self.win[:, j, None], self.rise)
            both = self.how.dot(lifted, drop)
            taken = both[..., :classes]
            taken[:, j, :] = taken[:, :, j] = -np.inf
            given = np.logaddexp(given, taken)
            log_r[..., j] = both[..., classes:]
            ratio[..., j] = _relative(gain[:, j, :, None], log_p[:, j]) - _relative(taken, log_p[:, j])
        for c in range(classes):
            out = _relative(gain[:, :, c], log_p[:, c]).sum(axis=1)[:, None]
            ratio[:, c, :, c] = -out - _relative(lost[:, c, :classes], log_p[:, c])
            log_r[:, c, :, c] = lost[:, c, classes:]
            ratio[:, :, c, c] = _relative(gain[:, c, :], log_p[:, c]) + _relative(given[:, :, c], log_p[:, c])
        log_r[:, :, diagonal, diagonal] = self.how.dot(self.win_raised, self.rise).swapaxes(1, 2)
        return Shifts(log_p, log_change(ratio, log_r - log_p[:, None, None, :]))


def _relative(log_part: Floats, log_p: Floats) -> Floats:
    """Return the part as a fraction of probabilities (Q,)."""
    return np.exp(log_part - log_p.reshape(-1, *[1] * (log_part.ndim - 1)))


def log_change(ratio: Floats, difference: Floats) -> Floats:
    """Return log R/P from (R - P)/P where that is small, else from the logarithms."""
    small = np.abs(ratio) < 0.5
    return np.where(small, np.log1p(np.where(small, ratio, 0.0)), difference)
