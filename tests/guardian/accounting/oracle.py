"""Independent implementation of docs/accounting.md, in many-digit arithmetic, one histogram at a time."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import mpmath as mp
import numpy as np
from numpy.typing import ArrayLike

mp.mp.dps = 60


def assert_equal(actual: ArrayLike, expected: ArrayLike, what: str = "") -> None:
    """Check equality to 1e-9 relative; values below 1e-290 count as 0."""
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=1e-9, atol=1e-290, err_msg=what)


def upper_tail(x: Any) -> Any:
    return mp.erfc(mp.mpf(x) / mp.sqrt(2)) / 2


def q_argmax(votes: Sequence[float], sigma: float) -> Any:
    first = max(range(len(votes)), key=lambda j: votes[j])
    others = [mp.mpf(votes[first]) - v for j, v in enumerate(votes) if j != first]
    union = mp.fsum(upper_tail(gap / (mp.sqrt(2) * mp.mpf(sigma))) for gap in others)
    return min(union, 1 - mp.mpf(1) / len(votes))


def q_check(largest: float, threshold: float, sigma: float) -> Any:
    return upper_tail(abs(mp.mpf(largest) - threshold) / mp.mpf(sigma))


def theorem6(q: Any, scale: Any, order: float) -> Any:
    with mp.workdps(350):  # 1 - q must keep the digits of q
        return _theorem6(q, scale, order)


def _theorem6(q: Any, scale: Any, order: float) -> Any:
    a, s = mp.mpf(order), mp.mpf(scale)
    worst = a / s**2
    mu2 = s * mp.sqrt(-mp.log(q))
    mu1 = mu2 + 1
    if mu2 <= 1 or a >= mu1:
        return worst
    e1, e2 = mu1 / s**2, mu2 / s**2
    if q > mp.exp((mu2 - 1) * e2) / (mu1 / (mu1 - 1) * mu2 / (mu2 - 1)) ** mu2 or q * mp.exp(e2) >= 1:
        return worst
    big_a = (1 - q) / (1 - (q * mp.exp(e2)) ** ((mu2 - 1) / mu2))
    big_b = mp.exp(e1) / q ** (1 / (mu1 - 1))
    return min(worst, mp.log((1 - q) * big_a ** (a - 1) + q * big_b ** (a - 1)) / (a - 1))


def q_laplace(votes: Sequence[float], gamma: float, lattice: float) -> Any:
    """Bound the probability that Laplace noise on a lattice releases another class than the plurality.

    The union over the others of P(X - Y >= gap), ties counted in full, and at most 1 - 1/k.
    """
    kept = mp.exp(-mp.mpf(gamma) * lattice)
    top = votes.index(max(votes))
    gaps = [mp.mpf(votes[top] - count) / lattice for place, count in enumerate(votes) if place != top]
    # P(X - Y = d) = ((1-q)/(1+q))^2 q^|d| (|d| + (1 + q^2)/(1 - q^2)), summed from the gap on.
    scale = ((1 - kept) / (1 + kept)) ** 2
    rest = (1 + kept**2) / (1 - kept**2)
    tails = [scale * kept**gap * ((gap + rest) / (1 - kept) + kept / (1 - kept) ** 2) for gap in gaps]
    return min(mp.fsum(tails), 1 - mp.mpf(1) / len(votes))


def theorem3(q: Any, close: Any, order: float) -> Any:
    """Return the bound of Papernot et al. 2017, Theorem 3, at one order; infinite where it does not apply."""
    if q >= 1 / (mp.exp(close) + 1):
        return mp.inf
    power = mp.mpf(order) - 1
    ratio = (1 - q) / (1 - mp.exp(close) * q)
    return mp.log((1 - q) * ratio**power + q * mp.exp(close * power)) / power


def argmax_probabilities(votes: Sequence[float], sigma: float) -> list[Any]:
    """Return the probability of every class under continuous noise.

    The trapezoid rule converges like exp(-2 (pi/step)^2/k) on these integrands, which are entire and
    Gaussian-like.
    """
    s, step = mp.mpf(sigma), mp.mpf(1) / 5
    means = [mp.mpf(v) / s for v in votes]
    first, last = int((min(means) - 16) / step), int((max(means) + 16) / step)
    wins = [mp.mpf(0)] * len(means)
    for index in range(first, last + 1):
        x = index * step
        factors = [density_and_cdf(x - mean) for mean in means]
        for j, (density, _) in enumerate(factors):
            others = mp.fprod(cdf for i, (_, cdf) in enumerate(factors) if i != j)
            wins[j] += step * density * others
    return wins


@lru_cache(maxsize=2**17)
def density_and_cdf(z: Any) -> tuple[Any, Any]:
    """Return phi(z) and Phi(z); cached, because neighbours share most counts."""
    return mp.npdf(z), mp.ncdf(z)


def divergence(p: Sequence[Any], r: Sequence[Any], order: float) -> Any:
    """Return D_order(p || r)."""
    a = mp.mpf(order)
    return mp.log(mp.fsum(x**a * y ** (1 - a) for x, y in zip(p, r, strict=True))) / (a - 1)


def small_divergence(p: Sequence[Any], r: Sequence[Any], order: float) -> Any:
    """Return the divergence if it is far below the precision of the likeliest outcome's probability."""
    a = mp.mpf(order)
    excess = mp.fsum(x * ((y / x) ** (1 - a) - 1 - (1 - a) * (y / x - 1)) for x, y in zip(p, r, strict=True))
    return mp.log1p(excess) / (a - 1)
