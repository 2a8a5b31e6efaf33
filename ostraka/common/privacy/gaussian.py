"""The Gaussian filter: budgets that pay for Gaussian noise by its variance alone, converted exactly.

Amounts are rho = mu^2/2 of mu-Gaussian differential privacy (Dong, Roth and Su 2022). They add up under fully
adaptive composition (Smith and Thakurta 2022). docs/accounting-gaussian.md proves what is used here, for the
discrete noise that is really drawn, and says what the constants stand for.
"""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from statistics import NormalDist

from ostraka.common.privacy.inputs import InputError
from ostraka.common.sharing import FRACTION_BITS

MIN_SIGMA = math.ldexp(1.0, -FRACTION_BITS)
"""The least noise, in votes, that is proved to be as good as a continuous Gaussian's: one step."""
_LATTICE_VARIANCE = math.ldexp(0.5, -2 * FRACTION_BITS)
"""By how much the variance of a continuous Gaussian is smaller that is as good as a discrete one: half a
squared step, in squared votes."""
_ROUNDING = 1 + 1e-12
"""More than a handful of products and quotients of doubles are off by."""


def noise_rho(moved: float, sigma: float) -> float:
    """Return rho of counts on the lattice that are released with discrete Gaussian noise of `sigma` votes.

    Args:
        moved: what a unit moves them by, as an L2 norm in votes.
        sigma: at least `MIN_SIGMA`.

    Raises:
        InputError: for less noise.
    """
    if not sigma >= MIN_SIGMA:
        raise InputError("sigma", f"must be at least a step of 2^-{FRACTION_BITS} vote, is {sigma}")
    # A product overflows to infinity, where a power would raise: plans may name any number.
    return moved * moved / (2 * (sigma * sigma - _LATTICE_VARIANCE)) * _ROUNDING


_SMALL = 1e-3
"""Of a pure epsilon: below it the quantile is bounded by its tangent, from which it differs by 4e-7 of it."""
_LARGE = 700.0
"""Of a pure epsilon: beyond it e^-epsilon is no normal double, and the tail's bound exp(-z^2/2)/2 is used."""
_TANGENT = math.sqrt(2 * math.pi) / 4 * (1 + 1e-6)
_QUANTILE_ROUNDING = 1 + 1e-9
"""More than the quantile, and one half plus a quarter of `_SMALL`, are off by."""


def pure_rho(epsilon: float) -> float:
    """Return rho of anything that is `epsilon`-DP: mu is 2 Phi^-1(e^epsilon/(1 + e^epsilon)) at most."""
    if epsilon < _SMALL:
        return 2 * (_TANGENT * epsilon) ** 2
    if epsilon > _LARGE:
        return 4 * (epsilon - math.log(2)) * _QUANTILE_ROUNDING
    return 2 * NormalDist().inv_cdf(1 / (1 + math.exp(epsilon))) ** 2 * _QUANTILE_ROUNDING


def gaussian_epsilon(rho: float, delta: float) -> float:
    """Return the least epsilon of (epsilon, `delta`) that rho = mu^2/2 gives, rounded up; maybe infinity.

    Raises InputError for a rho that is negative or no number, or a delta outside (0, 1).
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
"""An epsilon beyond which doubles overflow: a larger one allows no more."""
_PRECISION = 1e-14
"""Relative width at which an interval is no longer halved."""
_MARGIN = 1e-9
"""What a budget gives up, so that no rounding tells of more than its epsilon when all of it is spent."""
_CLOSE = 1e-13
"""More than a tail, a density below `_SWITCH` or a Mills ratio is off by, relative: the exponential of x^2/2
turns an error of x by half an ulp into x^2 ulp, and math.exp and math.erfc are off by a few."""
_DENSITY = 1 + 1e-12
"""The same of a density anywhere below `_FARTHEST`, of which x^2/2 is 800."""
_SWITCH = 5.0
"""From here on Mills' ratio is taken from its continued fraction."""
_TERMS = 30
"""So many of its terms leave out 3e-19 of the ratio, less than a double can tell."""


def _delta(epsilon: float, mu: float) -> float:
    """Return delta of mu-Gaussian differential privacy at `epsilon`, rounded up (Dong, Roth and Su 2022).

    Q(a) - e^epsilon Q(b) for the normal tail Q, a = epsilon/mu - mu/2 and b = a + mu, is
    phi(a) (R(a) - R(b)) with Mills' ratio R = Q/phi. It falls in a and rises in b, so both are rounded apart.
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
