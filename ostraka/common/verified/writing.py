"""All that a statement is about, written as digits, and the wires that hold them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ostraka.common.sharing.prime_field import FieldArray, PrimeField
from ostraka.common.sharing.statement import Statement
from ostraka.common.verified.digits import Digit, Lanes, cheapest, digits_of

_LARGEST_FRACTION_TOP = 10
"""Counts with norms are of fractions, and large: fewer, larger digits save less than their products cost."""


@dataclass(frozen=True)
class Place:
    """The wires that hold one place of some numbers' digits.

    Attributes:
        digit: of the place.
        wires: of all wires.
        numbers: what the wires are digits of: a number for each wire, and the same for each of its places.
    """

    digit: Digit
    wires: slice
    numbers: slice


@dataclass(frozen=True)
class Writing:
    """Counts as digits, and after them the rows' norms where the statement claims one."""

    statement: Statement

    @cached_property
    def counts(self) -> Lanes:
        """How counts are written: in one lane, or in one for each cell where norms are claimed."""
        rows = self.statement.rows
        cells = self.statement.cells
        if self.statement.norm is None:
            return Lanes(cheapest(self.statement.most), 1, rows * cells)
        return Lanes(cheapest(self.statement.most, _LARGEST_FRACTION_TOP), cells, rows)

    @cached_property
    def norms(self) -> Lanes | None:
        """How norms are written: in one lane, by digits no larger than those of counts."""
        if self.statement.norm is None:
            return None
        return Lanes(digits_of(self.statement.norm.most, self.largest_top), 1, self.statement.rows)

    @property
    def largest_top(self) -> int:
        """The largest value of any digit."""
        return max(digit.top for digit in self.counts.digits)

    @property
    def size(self) -> int:
        """Digits of everything."""
        return sum(lanes.size for lanes in self._lanes)

    def write(self, counts: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the digits (size,) of counts (rows, cells) and of their norms."""
        if self.norms is None or self.statement.norm is None:
            return self.counts.write(counts)
        return np.append(self.counts.write(counts.T), self.norms.write(self.statement.norm.of(counts)))

    def read(self, field: PrimeField, digits: FieldArray) -> FieldArray:
        """Return counts (rows, cells), or shares of them, of digits (size,)."""
        counts = self.counts.read(field, digits[: self.counts.size])
        shaped: FieldArray = counts.reshape(self.statement.rows, -1) if self.norms is None else counts.T
        return shaped

    def cut(self, digits: NDArray[np.uint64], held: int) -> NDArray[np.uint64]:
        """Return digits (size,), or shares of them, by the wires that hold so many each, (wires, held)."""
        parts = np.split(digits, np.cumsum([lanes.size for lanes in self._lanes])[:-1])
        return np.concatenate([lanes.cut(part, held) for lanes, part in zip(self._lanes, parts, strict=True)])

    def wires(self, held: int) -> int:
        """Return how many wires hold all digits, if each holds so many."""
        return sum(len(lanes.digits) * lanes.wires(held) for lanes in self._lanes)

    def places(self, held: int) -> tuple[Place, ...]:
        """Return the wires of every place, if each holds so many digits."""
        places: list[Place] = []
        wire = number = 0
        for lanes in self._lanes:
            wires = lanes.wires(held)
            for digit in lanes.digits:
                places.append(Place(digit, slice(wire, wire + wires), slice(number, number + wires)))
                wire += wires
            number += wires
        return tuple(places)

    @property
    def _lanes(self) -> tuple[Lanes, ...]:
        return (self.counts,) if self.norms is None else (self.counts, self.norms)
