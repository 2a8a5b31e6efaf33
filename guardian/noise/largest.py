"""The largest of many discrete Gaussians, drawn without drawing them."""

from __future__ import annotations

import math
import secrets
import threading
from collections.abc import Callable

from flint import arb, ctx
from scipy import special

from guardian.noise.tails import log_cdf

_WORD = 64
_TINY = 1e-200
_PRECISION = threading.Lock()
"""Held while flint's working precision, which all threads share, is set."""

RandomBits = Callable[[int], int]


class _Uniform:
    """A uniform real number in (0, 1), known to as many bits as were needed so far."""

    def __init__(self, random_bits: RandomBits) -> None:
        self._random_bits = random_bits
        self._value, self.bits = random_bits(_WORD), _WORD

    def extend(self) -> None:
        """Draw the next bits."""
        self._value = self._value << _WORD | self._random_bits(_WORD)
        self.bits += _WORD

    def log(self) -> arb:
        """A ball that holds the number's logarithm."""
        return (arb(self._value).union(arb(self._value + 1)) / arb(2) ** self.bits).log()

    def estimate(self) -> float:
        """About minus the number's logarithm; above 0."""
        middle, whole = 2 * self._value + 1, 2 << self.bits
        return -math.log(middle / whole) if 2 * middle < whole else -math.log1p((middle - whole) / whole)


def largest_gaussian(scale: float, count: int, random_bits: RandomBits = secrets.randbits) -> int:
    """Return the largest of `count` independent discrete Gaussians of `scale` steps, exactly.

    That is the least x with P(X <= x)^count >= U for a uniform U. Balls are compared, and U gets more bits
    until they are apart, so no rounding enters the outcome (own derivation: docs/accounting.md, Noise). The
    search starts at an approximation, which affects nothing but speed.
    """
    with _PRECISION:
        uniform = _Uniform(random_bits)
        start = _approximate(uniform, scale, count)
        return _least(lambda x: _at_most(x, scale, count, uniform), start)


def _at_most(x: int, scale: float, count: int, uniform: _Uniform) -> bool:
    while True:
        with ctx.workprec(2 * uniform.bits):
            reached, drawn = count * log_cdf(x, scale), uniform.log()
            if drawn < reached:
                return True
            if drawn > reached:
                return False
        uniform.extend()


def _least(holds: Callable[[int], bool], start: int) -> int:
    """The least x where `holds`, which is false below some x and true from there on."""
    low, high, step = start - 1, start, 1
    while holds(low):
        low, high, step = low - step, low, 2 * step
    while not holds(high):
        low, high, step = high, high + step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _approximate(uniform: _Uniform, scale: float, count: int) -> int:
    """The continuous law's quantile at U^(1/count), from whichever of its tails is the smaller."""
    log_each = math.log(uniform.estimate()) - math.log(count)
    each = math.exp(log_each)
    if each > math.log(2):
        return round(scale * float(special.ndtri_exp(-each)))
    log_tail = math.log(-math.expm1(-each)) if each > _TINY else log_each
    return round(-scale * float(special.ndtri_exp(log_tail)))
