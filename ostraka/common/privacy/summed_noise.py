"""Noise that several parties draw: a sum of discrete Gaussians, nearly a single one of the same variance.

After Kairouz, Liu and Steinke 2021. docs/accounting-parties.md bounds the distance of the sum from a discrete
Gaussian, and proves that counts with it cost no more than with a single draw of the whole variance.
"""

from __future__ import annotations

import math

from ostraka.common.privacy.filters import GAUSSIAN
from ostraka.common.privacy.gaussian import noise_rho
from ostraka.common.privacy.inputs import InputError
from ostraka.common.sharing import FRACTION_BITS

_ROUNDING = 1 + 2.0**-50
"""More than the rounding error of a root and a quotient of doubles: shares add up to at least the whole."""
_CLOSE = 5.0
"""Factor of exp(-2 pi^2 r^2): above what two summed draws add, from one step on."""


def share_sigma(sigma: float, draws: int) -> float:
    """Return the scale of each of `draws` draws whose variances add up to `sigma`^2 or slightly more."""
    return sigma / math.sqrt(draws) * _ROUNDING


def log_ratio(steps: float, draws: int) -> float:
    """Bound how far log P(x) of a sum and of one discrete Gaussian of its variance differ, over all x.

    The bound is on the largest difference minus the smallest one. Both laws sum to one, so it also bounds the
    differences themselves. Own derivation, half of Kairouz, Liu and Steinke 2021, Theorem 1.

    Args:
        steps: scale of each draw, in lattice steps, at least 1.
        draws: number of independent draws that are summed, at least 1.
    """
    if not 1 <= steps < math.inf:
        raise InputError("steps", f"must be a finite number of at least 1, is {steps}")
    if draws < 1:
        raise InputError("draws", f"must be at least 1, is {draws}")
    # The sum of the first two draws is the least smooth; no later draw adds more.
    turns = math.pi * steps
    # A product overflows to infinity, but a power would raise.
    return _CLOSE * (draws - 1) * math.exp(-turns * turns)


def is_close(sigma: float, draws: int) -> bool:
    """Whether `rdp_of_sum` is proved for this number of draws that add up to `sigma` votes."""
    whole = sigma * 2.0**FRACTION_BITS
    steps = share_sigma(sigma, draws) * 2.0**FRACTION_BITS
    if not 1 <= steps < math.inf or whole * whole < 2:
        return False
    ratio = log_ratio(steps, draws)
    # From 9 steps on the ratio is 0, long before a fourth power is too large.
    return ratio == 0 or 16 * ratio * whole**4 <= 1


def rdp_of_sum(order: float, moved: float, sigma: float, draws: int) -> float:
    """Return the cost of counts that are released with `draws` draws, of variance `sigma`^2 together.

    The sum is as good as a continuous Gaussian whose variance is smaller by half a squared step, and so is
    every function of the noisy counts, at every order and under a Gaussian filter
    (docs/accounting-parties.md).

    Args:
        order: Renyi order, or `GAUSSIAN`.
        moved: how far a unit moves the counts, as an L2 norm in votes.
        sigma: deviation of the whole sum, in votes.
        draws: number of discrete Gaussians of `share_sigma` in the sum.

    Raises:
        InputError: if each draw is narrower than the proof allows.
    """
    if not is_close(sigma, draws):
        raise InputError("sigma", f"{draws} draws that add up to {sigma} votes are too narrow for the proof")
    rho = noise_rho(moved, sigma)
    return rho if order == GAUSSIAN else order * rho
