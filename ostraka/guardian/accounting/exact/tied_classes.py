"""The outcomes of a noisy argmax over classes, some of which occur in very many equal copies.

Class j represents c_j copies with the same count m_j, in units of the noise, each with its own draw. One copy
of it wins with probability P_j, the integral of phi(x - m_j)/Phi(x - m_j) prod_i Phi(x - m_i)^c_i over x. As
in `ostraka.guardian.accounting.numerics.argmax_outcomes`, every number is a trapezoid sum over a positive
integrand. Votes move between classes of one copy. docs/accounting-mechanisms.md derives the step and the
reach for many copies.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri

from ostraka.guardian.accounting.exact.noisy_outcomes import BEYOND, MAX_CELL, ROUNDING
from ostraka.guardian.accounting.numerics.argmax_outcomes import QUADRATURE, REACH, log_change, step_of_few
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.numerics.normal import log_cdf_gain, log_cdf_step, log_density
from ostraka.guardian.accounting.numerics.summation import Summation

SHIFT_OF_BOUND = 0.4
"""The lemma's d (X + 2): how far the bound on Phi^M in a strip around the real line is shifted along it
(docs/accounting-mechanisms.md, Powerset, Lemma)."""
STRIP_OF_SINGLES = 6.0
"""Upper bound on the strip's half-width times sqrt K, for K single factors: in a wider strip these factors
would grow by more than the width gains."""
MAX_ERROR_OF_TAILS = 0.05
"""The largest relative error e of a draw's tails for which draws lie within 2e of Gaussian ones
(docs/accounting-mechanisms.md, Powerset, lattice, step 1)."""


def grid(spread: float, singles: int, equal: tuple[float, float], shift: float) -> Floats:
    """Return equidistant points relative to the leading count, in units of the noise.

    Args:
        spread: how far the leading count lies above 0, the lowest count.
        singles: number of separate factors in an integrand.
        equal: the fewest and the most copies whose count is 0.
        shift: how far one vote moves a count.
    """
    fewest, most = equal
    typical = math.sqrt(2 * math.log(singles + most))
    # No mode lies further than a shift below the x with (U - 3) Q(x) = 3, where U copies have no vote
    # (reach).
    crowd = float(-ndtri(min(0.5, 3 / max(fewest - 3, 1))))
    left = max(-0.75 * spread, crowd - spread) - REACH - shift
    right = typical + REACH + shift
    # W bounds how far the integrand's mean lies above the lowest factor (the shift d).
    width = spread + typical + 2 * shift + 2
    step = max(step_of_few(singles + most), _step_of_many(width, singles, most))
    return np.asarray(left + step * np.arange(math.ceil((right - left) / step) + 1), dtype=np.float64)


def _step_of_many(width: float, singles: int, equal: float) -> float:
    """Return a step that keeps the error small for Phi^equal, from a strip around the real line.

    h = 2 pi c/(log(4/tolerance) + log C) with log C = K c^2/2 + 1/2 + 3 d W (docs/accounting-mechanisms.md).
    """
    # X + 2 of the lemma; its c is the first of the two.
    edge = max(1.0, float(-ndtri(min(0.5, 1 / max(equal, 1))))) + 2
    strip = min(2 / (3 * edge), STRIP_OF_SINGLES / math.sqrt(singles))
    growth = singles * strip**2 / 2 + 0.5 + 3 * SHIFT_OF_BOUND / edge * width
    return 2 * math.pi * strip / (math.log(4 / QUADRATURE) + growth)


class TiedClasses:
    """Log probabilities of classes, and how log probabilities change when counts change.

    Attributes:
        log_p: log probability (Q, k) that a class wins, for all its copies together.
    """

    def __init__(self, gaps: Floats, copies: Floats, shift: float, x: Floats, how: Summation) -> None:
        """Take `gaps` below the leading count (Q, k), `copies` (Q, k), a count's change and points `x`."""
        values, flat = np.unique(gaps, return_inverse=True)
        index: NDArray[np.intp] = flat.reshape(gaps.shape)
        z = x + values[:, None]
        log_cdf = np.asarray(log_ndtr(z), dtype=np.float64)
        below = np.einsum("qk,qkz->qz", copies, log_cdf[index])[:, None]
        others = how.encode(below - log_cdf[index] + math.log(x[1] - x[0]))
        fall = -log_cdf_step(z - shift, shift)
        self.how = how
        self.win = how.times(how.encode(log_density(z))[index], others)
        self.win_lowered = how.times(how.encode(log_density(z + shift))[index], others)
        self.win_raised = how.times(how.encode(log_density(z - shift))[index], others)
        self.rise = how.encode(log_cdf_step(z, shift))[index]
        self.gain = how.encode(log_cdf_gain(z, shift))[index]
        self.loss = how.encode(log_cdf_gain(z - shift, shift) + fall)[index]
        self.kept = how.encode(fall)[index]
        self.log_one = how.total(self.win)
        self.log_copies = np.log(copies)
        self.log_p = self.log_one + self.log_copies
        self.each = np.arange(gaps.shape[1])

    def lower_count(self) -> Floats:
        """Return log R_j/P_j (Q, a, j) after the count of a was lowered."""
        return log_change(self._lowering_ratio(), self._lowering_log() - self.log_one[:, None])

    def raise_count(self) -> Floats:
        """Return log R_j/P_j (Q, b, j) after the count of b was raised."""
        given = self.how.dot(self.loss, self.win)
        given[:, self.each, self.each] = -np.inf
        ratio = -self._shares(given)
        ratio[:, self.each, self.each] = self._sum_copies(given)
        log_r = self.how.dot(self.kept, self.win)
        log_r[:, self.each, self.each] = self.how.total(self.win_raised)
        return log_change(ratio, log_r - self.log_one[:, None])

    def move_vote(self) -> Floats:
        """Return log R_j/P_j (Q, a, b, j) after a was lowered and then b != a raised."""
        classes = len(self.each)
        drop = np.concatenate([self.loss, self.kept], axis=1)
        ratio = np.repeat(self._lowering_ratio()[:, :, None], classes, axis=2)
        given = np.empty_like(ratio)
        log_r = np.empty_like(ratio)
        for j in range(classes):
            lowered = self.how.times(self.win[:, j, None], self.rise)
            lowered[:, j] = self.win_lowered[:, j]
            both = self.how.dot(lowered, drop)
            given[..., j] = both[..., :classes]
            log_r[..., j] = both[..., classes:]
        given[:, :, self.each, self.each] = -np.inf
        ratio -= self._shares(given)
        ratio[:, :, self.each, self.each] += self._sum_copies(given)
        log_r[:, :, self.each, self.each] = self.how.dot(self.rise, self.win_raised)
        return log_change(ratio, log_r - self.log_one[:, None, None])

    def _lowering_ratio(self) -> Floats:
        """Return (R_j - P_j)/P_j (Q, a, j): the loss of a and the gain of each other class."""
        taken = self.how.dot(self.gain, self.win)
        taken[:, self.each, self.each] = -np.inf
        ratio = self._shares(taken)
        ratio[:, self.each, self.each] = -self._sum_copies(taken)
        return ratio

    def _lowering_log(self) -> Floats:
        log_r = self.how.dot(self.rise, self.win)
        log_r[:, self.each, self.each] = self.how.total(self.win_lowered)
        return log_r

    def _shares(self, log_parts: Floats) -> Floats:
        """Return parts (Q, ..., j) of one copy of j as fractions of its probability."""
        return np.exp(log_parts - _between(self.log_one, log_parts.ndim))

    def _sum_copies(self, log_parts: Floats) -> Floats:
        """Return the parts (Q, ..., b, j) of all copies as fractions (Q, ..., b) of b's probability."""
        theirs = _between(self.log_one, log_parts.ndim - 1)[..., None]
        every = np.exp(log_parts + _between(self.log_copies, log_parts.ndim) - theirs)
        return np.asarray(every.sum(axis=-1))


def draws_error(step: float, reach: Floats) -> Floats:
    """Bound the error (Q,) of log probabilities on a lattice of `step` deviations, 0 without one.

    Each draw is close to a Gaussian draw, so the number of draws does not matter
    (docs/accounting-mechanisms.md). `reach` is the distance between counts and the most likely largest draw.
    The bound is infinite for steps that are too wide.
    """
    if step == 0:
        return np.zeros_like(reach)
    far = reach + BEYOND
    each = (step * (far + 1)) ** 2 / 2
    discrete = np.where(
        (step * far <= MAX_CELL) & (each <= MAX_ERROR_OF_TAILS), 4 * each * (reach + 2), np.inf
    )
    return discrete + 4 * QUADRATURE + ROUNDING * (1 + reach**2)


def _between(values: Floats, dimensions: int) -> Floats:
    """Return values (Q, j) with new axes in between."""
    return values.reshape(len(values), *[1] * (dimensions - 2), -1)
