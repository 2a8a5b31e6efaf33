"""Counts written as digits, so that exactly 0 to the largest count can be written."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_DIGIT_COST = 440
"""What sharing and sending one digit weighs beside one product of the proof.

A digit of top d needs d (d + 1) / 2 products. With this weight counts to 30 are one digit, counts to about
500 two, and counts of tens of thousands four.
"""
_LARGEST_TOP = 64
"""A larger digit is never the cheapest."""


@dataclass(frozen=True)
class Digit:
    """A number from 0 to `top` that counts `weight` times."""

    weight: int
    top: int


@lru_cache(maxsize=256)
def cheapest(most: int, largest_top: int = _LARGEST_TOP) -> tuple[Digit, ...]:
    """Return the digits, the lowest first, of counts 0..most at the least cost of bytes and work."""
    return min((digits_of(most, top) for top in range(1, min(most, largest_top) + 1)), key=_cost)


@lru_cache(maxsize=256)
def digits_of(most: int, top: int) -> tuple[Digit, ...]:
    """Return few digits of at most `top` each that write exactly the counts 0..most, the lowest first.

    The highest digit, of weight c and top t, leaves most - c t for the lower ones. It leaves no gap where
    c - 1 is not more than that; the largest such c is (most + 1) // (t + 1).
    """
    if most <= top:
        return (Digit(1, most),)
    left, highest = min((most - t * ((most + 1) // (t + 1)), t) for t in range(1, top + 1))
    return (*digits_of(left, top), Digit((most - left) // highest, highest))


def write(counts: NDArray[np.int64], digits: tuple[Digit, ...]) -> NDArray[np.uint64]:
    """Write counts (n,) within range as digits (len(digits), n), uint64."""
    written = np.empty((len(digits), counts.size), np.uint64)
    rest = counts
    for place in reversed(range(1, len(digits))):
        digit = np.minimum(rest // digits[place].weight, digits[place].top)
        rest = rest - digit * digits[place].weight
        written[place] = digit
    written[0] = rest
    return written


def _cost(digits: tuple[Digit, ...]) -> int:
    top = max(digit.top for digit in digits)
    return len(digits) * (_DIGIT_COST + top * (top + 1) // 2)
