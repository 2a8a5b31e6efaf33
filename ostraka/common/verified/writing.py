"""Everything that a statement is about, written as digits, and the wires that contain them."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ostraka.common.sharing.prime_field import FieldArray, PrimeField
from ostraka.common.sharing.statement import SIGNED_BASE, SIGNED_TOP, Statement, reach_of_digits

Whole = TypeVar("Whole", np.int64, np.uint64)
"""Plain digits, or field elements that are shares of them."""

_DIGIT_COST = 440
"""Cost of sharing and sending one digit, relative to one product of the proof.

A digit of top d needs d (d + 1) / 2 products. With this weight counts to 30 are one digit, counts to about
500 two, and counts of tens of thousands four.
"""
_MAX_TOP = 64
"""A larger digit is never the cheapest."""


@dataclass(frozen=True)
class Digit:
    """A number from `least` to `top` that counts `weight` times."""

    weight: int
    top: int
    least: int = 0

    @property
    def span(self) -> int:
        """The largest difference between its values."""
        return self.top - self.least


@lru_cache(maxsize=256)
def cheapest(most: int, largest_top: int = _MAX_TOP) -> tuple[Digit, ...]:
    """Return the digits, the lowest first, of counts 0..most with the least cost of bytes and work."""
    return min((digits_of(most, top) for top in range(1, min(most, largest_top) + 1)), key=_cost)


@lru_cache(maxsize=256)
def digits_of(most: int, top: int) -> tuple[Digit, ...]:
    """Return few digits of at most `top` each that represent exactly the counts 0..most, the lowest first.

    The highest digit, of weight c and top t, leaves most - c t for the lower ones. There is no gap if c - 1
    is not more than that; the largest such c is (most + 1) // (t + 1).
    """
    if most <= top:
        return (Digit(1, most),)
    left, highest = min((most - t * ((most + 1) // (t + 1)), t) for t in range(1, top + 1))
    return (*digits_of(left, top), Digit((most - left) // highest, highest))


def find_signed_digits(most: int) -> tuple[Digit, ...]:
    """Return the digits, the lowest first, of all numbers from -most to most, a `reach_of_digits`."""
    digits: list[Digit] = []
    while reach_of_digits(len(digits)) < most:
        digits.append(Digit(SIGNED_BASE ** len(digits), SIGNED_TOP, -SIGNED_TOP))
    return tuple(digits)


@lru_cache(maxsize=256)
def shift_digits(least: int, most: int) -> tuple[Digit, ...]:
    """Return the digits, the lowest first, that represent exactly the numbers least..most, which include 0.

    They are the cheapest digits of 0..most-least, each shifted by its digit in the representation of -least.
    """
    digits = cheapest(most - least)
    zeros = write(np.array([-least]), digits)[:, 0].tolist()
    return tuple(
        Digit(digit.weight, digit.top - zero, -zero) for digit, zero in zip(digits, zeros, strict=True)
    )


def write(counts: NDArray[np.int64], digits: tuple[Digit, ...]) -> NDArray[np.int64]:
    """Write counts (n,) within range as digits (len(digits), n), int64."""
    written = np.empty((len(digits), counts.size), np.int64)
    rest = counts - sum(digit.weight * digit.least for digit in digits)
    for place in reversed(range(1, len(digits))):
        digit = np.minimum(rest // digits[place].weight, digits[place].span)
        rest = rest - digit * digits[place].weight
        written[place] = digit + digits[place].least
    written[0] = rest + digits[0].least
    return written


def _cost(digits: tuple[Digit, ...]) -> int:
    span = max(digit.span for digit in digits)
    return len(digits) * (_DIGIT_COST + span * (span + 1) // 2)


@dataclass(frozen=True)
class Lanes:
    """Numbers in lanes of equal length, each written with the same digits.

    Digits are ordered by place, the lowest first, then by lane. A wire contains digits of one place and lane.

    Attributes:
        digits: the digits of a number, the lowest first.
        count: number of lanes.
        length: number of numbers in a lane.
    """

    digits: tuple[Digit, ...]
    count: int
    length: int

    @property
    def size(self) -> int:
        """Number of digits of all numbers."""
        return len(self.digits) * self.count * self.length

    def wires(self, held: int) -> int:
        """Return the number of wires of one place, if a wire contains `held` digits."""
        return self.count * -(-self.length // held)

    def write(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the digits of numbers (count, length), (size,)."""
        return write(numbers.ravel(), self.digits).ravel()

    def read(self, field: PrimeField, digits: FieldArray) -> FieldArray:
        """Return numbers (count, length), or shares of them, from their digits (size,)."""
        places = digits.reshape(len(self.digits), self.count, self.length)
        total: FieldArray = np.zeros((self.count, self.length), np.uint64)
        for place, digit in zip(places, self.digits, strict=True):
            total = field.add(total, field.scale(place, digit.weight))
        return total

    def cut(self, digits: NDArray[Whole], held: int) -> NDArray[Whole]:
        """Return digits (size,) as wires contain them, (places * wires, held), with zeros after each lane."""
        lanes = len(self.digits) * self.count
        padded = np.zeros((lanes, -(-self.length // held) * held), digits.dtype)
        padded[:, : self.length] = digits.reshape(lanes, self.length)
        return padded.reshape(-1, held)


_MAX_FRACTION_TOP = 10
"""Counts with norms are fractions, and large: fewer, larger digits save less than their products cost."""


@dataclass(frozen=True)
class Place:
    """The wires that contain one place of the digits of some numbers.

    Attributes:
        digit: the digit of the place.
        wires: their range among all wires.
        numbers: the numbers of these digits: one for each wire, the same for every place.
        weight: the digit's weight in that number; for norms of rounded counts, in the rounded number.
    """

    digit: Digit
    wires: slice
    numbers: slice
    weight: int


@dataclass(frozen=True)
class Writing:
    """Counts as digits, followed by the rows' norms and their sum, if the statement claims them."""

    statement: Statement

    @cached_property
    def counts(self) -> Lanes:
        """How counts are written: in one lane, or in one lane per cell if norms are claimed."""
        rows = self.statement.rows
        cells = self.statement.cells
        if self.statement.norm is None:
            return Lanes(shift_digits(self.statement.least, self.statement.most), 1, rows * cells)
        if self.statement.signed:
            return Lanes(find_signed_digits(self.statement.most), cells, rows)
        return Lanes(cheapest(self.statement.most, _MAX_FRACTION_TOP), cells, rows)

    @cached_property
    def norms(self) -> Lanes | None:
        """How norms are written: in one lane, with digits no larger than those of counts; else None."""
        if self.statement.norm is None:
            return None
        return Lanes(digits_of(self.statement.norm.most, self.largest_span), 1, self.statement.rows)

    @cached_property
    def norm_sum(self) -> Lanes | None:
        """How the sum of all rows' norms is written if it is bounded: up to the bound; else None."""
        if self.norms is None or self.statement.norm is None or not self.statement.norm.joint:
            return None
        return Lanes(self.norms.digits, 1, 1)

    @property
    def largest_span(self) -> int:
        """The largest span of any digit."""
        return max(digit.span for digit in self.counts.digits)

    @property
    def size(self) -> int:
        """Number of digits of everything."""
        return sum(lanes.size for lanes in self._lanes)

    def write(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the digits (size,) of counts (rows, cells), of their norms and of the sum of norms."""
        if self.norms is None or self.statement.norm is None:
            return self.counts.write(counts)
        norms = self.statement.norm.of(counts)
        written = [self.counts.write(counts.T), self.norms.write(norms)]
        if self.norm_sum is not None:
            written.append(self.norm_sum.write(norms.sum(keepdims=True)))
        return np.concatenate(written)

    def read(self, field: PrimeField, digits: FieldArray) -> FieldArray:
        """Return counts (rows, cells), or shares of them, from digits (size,)."""
        counts = self.counts.read(field, digits[: self.counts.size])
        shaped: FieldArray = counts.reshape(self.statement.rows, -1) if self.norms is None else counts.T
        return shaped

    def read_sums(self, field: PrimeField, digits: FieldArray) -> FieldArray | None:
        """Return what is checked of sums, or shares of it, from digits (size,); None if nothing is checked.

        It is each row's sum of counts, (rows,), or how far the sum of all norms differs from what is written,
        (1,).
        """
        if self.statement.total is not None:
            return field.total(self.read(field, digits), 1)
        if self.norms is None or self.norm_sum is None:
            return None
        _, norms, written = self._split(digits)
        total = field.total(self.norms.read(field, norms), 1)
        return field.subtract(total, self.norm_sum.read(field, written)[0])

    def cut(self, digits: NDArray[Whole], held: int) -> NDArray[Whole]:
        """Return digits (size,), or shares of them, by wires with `held` digits each, (wires, held)."""
        parts = zip(self._lanes, self._split(digits), strict=True)
        return np.concatenate([lanes.cut(part, held) for lanes, part in parts])

    def wires(self, held: int) -> int:
        """Return the number of wires for all digits, if each contains `held`."""
        return sum(len(lanes.digits) * lanes.wires(held) for lanes in self._lanes)

    def places(self, held: int) -> tuple[Place, ...]:
        """Return the wires of every place, if each contains `held` digits."""
        places: list[Place] = []
        wire = number = 0
        norm = self.statement.norm
        for lanes in self._lanes:
            wires = lanes.wires(held)
            unit = norm.unit if norm is not None and lanes is self.counts else 1
            for digit in lanes.digits:
                # Digits below the unit's place weigh nothing in the rounded number.
                weight = digit.weight // unit
                places.append(Place(digit, slice(wire, wire + wires), slice(number, number + wires), weight))
                wire += wires
            number += wires
        return tuple(places)

    @property
    def _lanes(self) -> tuple[Lanes, ...]:
        return tuple(lanes for lanes in (self.counts, self.norms, self.norm_sum) if lanes is not None)

    def _split(self, digits: NDArray[Whole]) -> list[NDArray[Whole]]:
        """Cut digits (size,) into those of each group of lanes."""
        return np.split(digits, np.cumsum([lanes.size for lanes in self._lanes])[:-1])
