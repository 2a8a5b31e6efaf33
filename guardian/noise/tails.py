"""Sums of the discrete Gaussian's weights, enclosed in balls that are proved to hold them."""

from __future__ import annotations

from functools import lru_cache
from itertools import count

from flint import arb, ctx

_NARROW = 16
"""Scales below this are summed term by term: quickly, and where Euler-Maclaurin converges slowly."""

_CRAMER = arb("1.0865")


def upper_tail(n: int, scale: float) -> arb:
    """Return sum_{y >= n} e^(-y^2/(2 scale^2)) for n >= 1, at flint's working precision.

    Wide scales use the Euler-Maclaurin formula with its remainder, narrow scales and far tails direct sums
    (own derivation: docs/accounting.md, Noise). The ball always holds the sum.
    """
    if scale < _NARROW or n > scale * scale:
        return _direct(n, arb(scale))
    return _euler_maclaurin(n, arb(scale))


def log_cdf(x: int, scale: float) -> arb:
    """Return log P(X <= x) of the discrete Gaussian of `scale` steps, at flint's working precision."""
    total = _total(scale, ctx.prec)
    if x < 0:
        return (upper_tail(-x, scale) / total).log()
    return (-upper_tail(x + 1, scale) / total).log1p()


@lru_cache(maxsize=32)
def _total(scale: float, precision: int) -> arb:
    """The sum of all weights; `precision` is flint's, and here only the cache's key."""
    return 1 + 2 * upper_tail(1, scale)


def _direct(n: int, scale: arb) -> arb:
    """Adds terms until the geometric series above the rest, whose ratios only fall, is negligible."""
    term, ratio = (-((n / scale) ** 2) / 2).exp(), (-(2 * n + 1) / (2 * scale**2)).exp()
    fall, total = (-1 / scale**2).exp(), arb(0)
    while True:
        total += term
        term *= ratio
        rest = term / (1 - ratio)
        if not rest > total * _negligible():
            return total + rest.union(arb(0))
        ratio *= fall


def _euler_maclaurin(n: int, scale: arb) -> arb:
    """Adds Bernoulli terms to the integral until Cramer's bound on the remainder is negligible."""
    u = n / scale
    integral = scale * (arb.pi() / 2).sqrt() * (u / arb(2).sqrt()).erfc()
    weight = (-(u**2) / 2).exp()
    reach = 4 * _CRAMER * arb.const_sqrt_pi() * (u / 2).erfc() * scale
    sum_ = integral + weight / 2
    odd, even = u, u**2 - 1
    for j in count(1):
        sum_ += arb.bernoulli(2 * j) / arb.fac_ui(2 * j) * odd * weight / scale ** (2 * j - 1)
        rest = reach * arb.fac_ui(2 * j).sqrt() / (2 * arb.pi() * scale) ** (2 * j)
        if not rest > integral * _negligible():
            break
        odd = u * even - 2 * j * odd
        even = u * odd - (2 * j + 1) * even
    return sum_ + rest.union(-rest)


def _negligible() -> arb:
    return arb(2) ** -ctx.prec
