"""Exact trials that succeed with probability exp(-x), and exact runs of trials with probability exp(-1).

A trial compares a uniform number with exp(-x). The number's first 53 bits and an enclosure of exp(-x) in
doubles decide nearly all trials; for the others, about one in 10^10, more bits are compared with rational
bounds until they decide. So the law is exact, as long as the enclosures hold (docs/accounting-noise.md).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ostraka.common.noise.enclosure import (
    ABSOLUTE_ERROR,
    RELATIVE_ERROR,
    SCALE_BITS,
    Floats,
    exp_bounds,
    scaled_exp,
)
from ostraka.common.noise.random_words import WORD_BITS, RandomBytes, random_words

_COMPARED = 44
"""Length of runs up to which words are compared: 2^64 exp(-45) is below 1."""
_WORD_DIGITS = 40
"""Digits of a bound, of which the first 20, those of 2^64, must be right."""


class Uniform:
    """A uniform number in [0, 1); only as many bits are drawn as comparisons need."""

    def __init__(self, word: int, random: RandomBytes) -> None:
        """Start with `word`, the number's first 64 bits."""
        self._value = word
        self._bits = WORD_BITS
        self._random = random

    def below_exp(self, exponent: Fraction) -> bool:
        """Return whether the number is below exp(-`exponent`)."""
        while True:
            # More digits than the bits drawn so far, so that a bound is more precise than the next bit.
            least, most = exp_bounds(exponent, self._bits // 2)
            if Fraction(self._value + 1, 2**self._bits) <= least:
                return True
            if Fraction(self._value, 2**self._bits) >= most:
                return False
            self._value = self._value << WORD_BITS | int(random_words(self._random, 1)[0])
            self._bits += WORD_BITS


def bernoulli_exp(
    exponents: Floats, exactly: Callable[[int], Fraction], random: RandomBytes
) -> NDArray[np.bool_]:
    """Return independent trials (n,), each of which succeeds with probability exp(-x).

    Args:
        exponents: x of each trial (n,), 0 or more. Below 46 their error is at most 2^-42; the others must be
            at least 46 minus that.
        exactly: returns the exact i-th exponent.
        random: source of bits.
    """
    words = random_words(random, len(exponents))
    uniform = (words >> np.uint64(WORD_BITS - SCALE_BITS)).astype(np.float64)
    enclosed = scaled_exp(exponents)
    above = enclosed - uniform
    successes: NDArray[np.bool_] = above > 0
    for i in np.flatnonzero(np.abs(above) <= enclosed * RELATIVE_ERROR + ABSOLUTE_ERROR):
        successes[i] = Uniform(int(words[i]), random).below_exp(exactly(int(i)))
    return successes


def exp_word(exponent: int) -> int:
    """Return 2^64 exp(-`exponent`), rounded down: only numbers with this first word are near the bound."""
    return int(exp_bounds(Fraction(exponent), _WORD_DIGITS)[0] * 2**WORD_BITS)


_RUNS = np.array([exp_word(run) for run in range(1, _COMPARED + 2)], np.uint64)
"""Bounds for runs of 1, 2, ..., 45 successes; the last one is 0."""


def geometric(count: int, random: RandomBytes) -> NDArray[np.int64]:
    """Return independent numbers (count,) that are v or more with probability exp(-v).

    Each is the largest v for which a uniform number is below exp(-v). Every word is compared with every
    bound, so that the time reveals no number.
    """
    words = random_words(random, count)
    compared = np.zeros(count, np.uint8)
    for bound in _RUNS[:_COMPARED]:
        compared += words < bound
    runs = compared.astype(np.int64)
    for i in np.flatnonzero(words == _RUNS[runs]):
        uniform = Uniform(int(words[i]), random)
        while uniform.below_exp(Fraction(int(runs[i]) + 1)):
            runs[i] += 1
    return runs
