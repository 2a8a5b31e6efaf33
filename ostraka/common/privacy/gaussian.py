"""The Gaussian filter: budgets that pay for Gaussian noise by its variance alone, converted exactly.

Amounts are rho = mu^2/2 of mu-Gaussian differential privacy (Dong, Roth and Su 2022). They add up under fully
adaptive composition (Smith and Thakurta 2022). docs/accounting-gaussian.md proves what is used here for the
discrete noise that is actually drawn, and explains the constants.
"""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from statistics import NormalDist

from ostraka.common.privacy.inputs import InputError
from ostraka.common.sharing import FRACTION_BITS

MIN_SIGMA = math.ldexp(1.0, -FRACTION_BITS)
"""The least noise, in votes, that is proved to be as good as a continuous Gaussian: one lattice step."""
_LATTICE_VARIANCE = math.ldexp(0.5, -2 * FRACTION_BITS)
"""Difference in variance between discrete noise and the continuous Gaussian that it matches.

It is half a squared step, in squared votes.
"""
_ROUNDING = 1 + 1e-12
"""More than the rounding error of a handful of products and quotients of doubles."""


def noise_rho(moved: float, sigma: float) -> float:
    """Return rho of counts on the lattice that are released with discrete Gaussian noise of `sigma` votes.

    Args:
        moved: how far a unit moves the counts, as an L2 norm in votes.
        sigma: at least `MIN_SIGMA`.

    Raises:
        InputError: for less noise.
    """
    if not sigma >= MIN_SIGMA:
        raise InputError("sigma", f"must be at least a step of 2^-{FRACTION_BITS} vote, is {sigma}")
    # A product overflows to infinity, but a power would raise: plans may contain any number.
    return moved * moved / (2 * (sigma * sigma - _LATTICE_VARIANCE)) * _ROUNDING


_SMALL = 1e-3
"""A pure epsilon below which the quantile is bounded by its tangent; the relative difference is 4e-7."""
_LARGE = 700.0
"""A pure epsilon beyond which e^-epsilon is not a normal double; there the tail's bound is exp(-z^2/2)/2."""
_TANGENT = math.sqrt(2 * math.pi) / 4 * (1 + 1e-6)
_QUANTILE_ROUNDING = 1 + 1e-9
"""More than the error of the quantile, and of one half plus a quarter of `_SMALL`."""


def pure_rho(epsilon: float) -> float:
    """Return rho of any `epsilon`-DP mechanism: its mu is at most 2 Phi^-1(e^epsilon/(1 + e^epsilon))."""
    if epsilon < _SMALL:
        return 2 * (_TANGENT * epsilon) ** 2
    if epsilon > _LARGE:
        return 4 * (epsilon - math.log(2)) * _QUANTILE_ROUNDING
    return 2 * NormalDist().inv_cdf(1 / (1 + math.exp(epsilon))) ** 2 * _QUANTILE_ROUNDING


def gaussian_epsilon(rho: float, delta: float) -> float:
    """Return the least epsilon of (epsilon, `delta`) that rho = mu^2/2 implies, rounded up; maybe infinity.

    Raises InputError for a negative or NaN rho, or a delta outside (0, 1).
    """
    if not 0 < delta < 1:
        raise InputError("delta", f"must lie between 0 and 1, is {delta}")
    if not rho >= 0:
        raise InputError("rdp", f"must be 0 or more, is {rho}")
    return _epsilon(rho, delta)


@lru_cache(maxsize=4096)
def _epsilon(rho: float, delta: float) -> float:
    mu = math.sqrt(2 * rho) * _ROUNDING
    if mu == 0 or _delta(0.0, mu) <= delta:
        return 0.0
    low = 0.0
    high = mu * (mu / 2 + _FARTHEST)
    if not (math.isfinite(high) and _delta(high, mu) <= delta):
        return math.inf
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        if _delta(middle, mu) <= delta:
            high = middle
        else:
            low = middle
    return high


@lru_cache(maxsize=4096)
def gaussian_budget(epsilon: float, delta: float) -> float:
    """Return the largest rho whose epsilon at `delta` is at most `epsilon`, rounded down.

    Raises InputError for an epsilon that is not positive, or a delta outside (0, 1).
    """
    if not 0 < epsilon < math.inf:
        raise InputError("epsilon", f"must be a finite number above 0, is {epsilon}")
    if not 0 < delta < 1:
        raise InputError("delta", f"must lie between 0 and 1, is {delta}")
    low = 0.0
    high = _FARTHEST + math.sqrt(_FARTHEST**2 + 2 * min(epsilon, _ENDLESS))
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        if _delta(epsilon, middle) <= delta:
            low = middle
        else:
            high = middle
    return low**2 / 2 * (1 - _MARGIN)


_FARTHEST = 40.0
"""Deviations beyond which a tail is less than any delta that is a normal double."""
_ENDLESS = 1e300
"""An epsilon beyond which doubles overflow; a larger epsilon allows no more."""
_PRECISION = 1e-14
"""Relative width at which bisection of an interval stops."""
_MARGIN = 1e-9
"""Share of a budget that is given up: rounding never reports more than its epsilon when all is spent."""
_CLOSE = 1e-13
"""More than the relative error of a tail, of a density below `_SWITCH`, or of a Mills ratio.

The exponential of x^2/2 turns an error of half an ulp in x into x^2 ulp, and math.exp and math.erfc are off
by a few ulp.
"""
_DENSITY = 1 + 1e-12
"""One plus the same bound for a density anywhere below `_FARTHEST`, where x^2/2 is 800."""
_SWITCH = 5.0
"""From here on Mills' ratio is computed from its continued fraction."""
_TERMS = 30
"""Number of its terms; the omitted rest is 3e-19 of the ratio, less than the precision of a double."""


def _delta(epsilon: float, mu: float) -> float:
    """Return delta of mu-Gaussian differential privacy at `epsilon`, rounded up (Dong, Roth and Su 2022).

    Q(a) - e^epsilon Q(b), for the normal tail Q, a = epsilon/mu - mu/2 and b = a + mu, equals phi(a) (R(a) -
    R(b)) with Mills' ratio R = Q/phi. It falls in a and rises in b, so a is rounded down and b up.
    """
    slack = 4 * math.ulp(epsilon / mu + mu / 2)
    a = epsilon / mu - mu / 2 - slack
    b = epsilon / mu + mu / 2 + slack
    kept = _mills(b) * (1 - _CLOSE)
    if a >= _SWITCH:
        return _density(a) * _DENSITY * (_mills(a) * (1 + _CLOSE) - kept) + sys.float_info.min
    return math.erfc(a / math.sqrt(2)) / 2 * (1 + _CLOSE) - _density(a) * kept


def _density(x: float) -> float:
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _mills(x: float) -> float:
    """Return Q(x)/phi(x) for x of 0 or more."""
    if x < _SWITCH:
        return math.sqrt(math.pi / 2) * math.exp(x * x / 2) * math.erfc(x / math.sqrt(2))
    tail = x
    for term in range(_TERMS, 0, -1):
        tail = x + term / tail
    return 1 / tail
