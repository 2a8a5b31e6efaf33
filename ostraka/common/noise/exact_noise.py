"""Exact discrete Gaussian and discrete Laplace noise, in whole arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ostraka.common.noise.bernoulli import bernoulli_exp, geometric
from ostraka.common.noise.enclosure import Floats
from ostraka.common.noise.random_words import WORD_BITS, RandomBytes, random_words, system_bytes
from ostraka.common.noise.source import lattice_scale

MIN_SCALE = 2.0**-64
"""Smallest scale, in lattice steps: all noise is 0 far above it already, and no double overflows yet."""
MAX_SCALE = 2.0**62
"""Largest scale, in lattice steps: numbers end at 2^63, and rings of 64 bits allow no scale above 2^59."""
_BLOCK = 2**14
"""Maximum number of candidates at once: their arrays fit a core's cache; calls of numpy cost little."""
_CANDIDATES = 5 / 2
"""Candidates per number needed; 0.32 to 0.63 of them are accepted."""
_FEW = 64
"""Additional candidates, so that one block is mostly enough for a few numbers."""


class ExactNoise:
    """Noise after Canonne, Kamath and Steinke (2020), from random bytes of the operating system.

    The law is exact (docs/accounting-noise.md), except that numbers of 2^63 and more become +-(2^63 - 1). It
    draws about 3 million numbers a second on one core, while other threads run. Nothing is kept between
    calls.
    """

    def __init__(self, random: RandomBytes = system_bytes) -> None:
        self._random = random

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return int64 noise of `shape`, discrete Gaussian of scale s = sigma 2^16: P(x) ~ e^(-x^2/(2 s^2)).

        Raises:
            ValueError: sigma is not a finite number above 0, or s is not from 2^-64 to 2^62.
            OstrakaError: `noise.no_entropy`.
        """
        return self._draw(_gaussian(_steps(sigma)), shape)

    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return int64 noise of `shape`, discrete Laplace of scale b = scale 2^16: P(x) ~ e^(-|x|/b).

        Raises:
            ValueError: the scale is not a finite number above 0, or b is not from 2^-64 to 2^62.
            OstrakaError: `noise.no_entropy`.
        """
        return self._draw(_laplace(_steps(scale)), shape)

    def uniform(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        """Return independent uint64 values of `shape`, uniform over all 64-bit values."""
        return random_words(self._random, math.prod(shape)).reshape(shape)

    def _draw(self, law: _Law, shape: tuple[int, ...]) -> NDArray[np.int64]:
        size = math.prod(shape)
        drawn = np.zeros(size, np.int64)
        filled = 0
        while filled < size:
            wanted = math.ceil(_CANDIDATES * (size - filled)) + _FEW
            taken = _take(law, min(_BLOCK, wanted), self._random)[: size - filled]
            drawn[filled : filled + len(taken)] = taken
            filled += len(taken)
        return drawn.reshape(shape)


@dataclass(frozen=True)
class _Law:
    """A law by rejection: discrete Laplace noise x of scale 2^k is accepted with probability exp(-exponent).

    Attributes:
        k: from 0 to 62.
        exponents: exponents of numbers |x|/2^k (n,), as `bernoulli_exp` needs them.
        exactly: the exact exponent of one |x|.
    """

    k: int
    exponents: Callable[[Floats], Floats]
    exactly: Callable[[int], Fraction]


def _gaussian(scale: float) -> _Law:
    """Return exponents (|x| - s^2/t)^2 / (2 s^2), as in Algorithm 3, of s = `scale` and t = 2^k near it."""
    k = max(0, round(math.log2(scale)))
    s = Fraction(scale)
    t = 2**k
    shift = math.ldexp(scale, -k)
    ratio = 1 / shift

    def exponents(sizes: Floats) -> Floats:
        deviations = sizes * ratio - shift
        return deviations * deviations * 0.5

    return _Law(k, exponents, lambda size: (size * t - s**2) ** 2 / (2 * (s * t) ** 2))


def _laplace(scale: float) -> _Law:
    """Return exponents |x| (1/b - 1/t), of b = `scale` and the smallest t = 2^k that is not below it."""
    k = (math.ceil(scale) - 1).bit_length()
    slope = 1 / Fraction(scale) - Fraction(1, 2**k)
    ratio = (2**k - scale) / scale
    return _Law(k, lambda sizes: sizes * ratio, lambda size: size * slope)


def _take(law: _Law, candidates: int, random: RandomBytes) -> NDArray[np.int64]:
    """Return the accepted ones of this many candidates, in order.

    A candidate's word gives its sign and u < 2^k, accepted with probability exp(-u/2^k); |x| is u + 2^k v
    with a geometric v. Negative zeros are rejected, because 0 would be drawn twice as often.
    """
    words = random_words(random, candidates)
    u = words & np.uint64(2**law.k - 1)
    part = u.astype(np.float64) * 2.0**-law.k
    kept = bernoulli_exp(part, lambda i: Fraction(int(u[i]), 2**law.k), random)
    negative = words[kept] >> np.uint64(WORD_BITS - 1) == 1
    u = u[kept]
    part = part[kept]
    v = geometric(len(u), random)
    exponents = law.exponents(part + v)
    taken = bernoulli_exp(exponents, lambda i: law.exactly(int(u[i]) + (int(v[i]) << law.k)), random)
    taken &= ~(negative & (u == 0) & (v == 0))
    sizes = np.where(v >> (63 - law.k) == 0, u.astype(np.int64) + (v << law.k), np.iinfo(np.int64).max)
    return np.where(negative, -sizes, sizes)[taken]


def _steps(scale: float) -> float:
    steps = lattice_scale(scale)
    if not MIN_SCALE <= steps <= MAX_SCALE:
        raise ValueError(f"sigma: must be {MIN_SCALE:g} to {MAX_SCALE:g} in lattice steps, is {steps:g}")
    return steps
