"""Numbers written as digits, so that exactly 0 to the largest can be written, in lanes of wires."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ostraka.common.sharing.prime_field import FieldArray, PrimeField

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


@dataclass(frozen=True)
class Lanes:
    """Numbers in lanes of equal length, each written as the same digits.

    Digits are ordered by place, the lowest first, then by lane. A wire holds digits of one place and lane.

    Attributes:
        digits: of a number, the lowest first.
        count: number of lanes.
        length: numbers in a lane.
    """

    digits: tuple[Digit, ...]
    count: int
    length: int

    @property
    def size(self) -> int:
        """Digits of all numbers."""
        return len(self.digits) * self.count * self.length

    def wires(self, held: int) -> int:
        """Return the wires of one place, if a wire holds so many digits."""
        return self.count * -(-self.length // held)

    def write(self, numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the digits of numbers (count, length), (size,)."""
        return write(numbers.ravel(), self.digits).ravel()

    def read(self, field: PrimeField, digits: FieldArray) -> FieldArray:
        """Return numbers (count, length), or shares of them, from their digits (size,)."""
        places = digits.reshape(len(self.digits), self.count, self.length)
        total: FieldArray = np.zeros((self.count, self.length), np.uint64)
        for place, digit in zip(places, self.digits, strict=True):
            total = field.add(total, field.scale(place, digit.weight))
        return total

    def cut(self, digits: NDArray[np.uint64], held: int) -> NDArray[np.uint64]:
        """Return digits (size,) as wires hold them, (places * wires, held), with zeros after each lane."""
        lanes = len(self.digits) * self.count
        padded = np.zeros((lanes, -(-self.length // held) * held), np.uint64)
        padded[:, : self.length] = digits.reshape(lanes, self.length)
        return padded.reshape(-1, held)
