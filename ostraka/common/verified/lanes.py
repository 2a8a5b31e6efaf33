"""Numbers written as digits, in lanes: which digits share a wire, and which wires a number."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostraka.common.sharing.prime_field import FieldArray, PrimeField
from ostraka.common.verified.digits import Digit, write


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
