"""What a party claims about the counts, or the values of a sum, that it shares."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

SIGNED_TOP = 5
"""The largest digit of a signed count; the smallest is -5. Larger digits need more products in proofs."""
SIGNED_BASE = 2 * SIGNED_TOP + 1
"""A signed digit at place i counts this to the power of i."""


def reach_of_digits(count: int) -> int:
    """Return the largest number that `count` signed digits represent; they also represent its negative."""
    return int(SIGNED_BASE**count // 2)


@dataclass(frozen=True)
class Norm:
    """A bound on the sum of a row's counts, each raised to a power.

    Attributes:
        power: 1 for the L1 norm, 2 for the L2 norm.
        most: the largest sum, at least 1.
        unit: counts are first rounded to multiples of it and expressed in it; a power of `SIGNED_BASE`.
        joint: whether `most` bounds the norms of all rows together.
    """

    power: Literal[1, 2]
    most: int
    unit: int = 1
    joint: bool = False

    def __post_init__(self) -> None:
        if self.most < 1:
            raise ValueError("the largest norm of a statement is at least 1")
        if not _is_power(self.unit):
            raise ValueError(f"norms are of numbers in powers of {SIGNED_BASE}, not in {self.unit}")

    def round_counts(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return each count in whole units, rounded to the nearest: its digits from the unit's place on."""
        return (counts + self.unit // 2) // self.unit

    def of(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of powers of each row of counts (rows, cells), (rows,)."""
        return np.asarray((self.round_counts(counts) ** self.power).sum(axis=1), np.int64)

    def admits(self, counts: NDArray[np.int64]) -> bool:
        """Whether counts (rows, cells) are within the bound."""
        norms = self.of(counts)
        return int(norms.sum() if self.joint else norms.max()) <= self.most


@dataclass(frozen=True)
class Statement:
    """A matrix of counts from `least` to `most`; every row sums to `total` or is within `norm`.

    Attributes:
        rows: number of queries, at least 1.
        cells: number of counts in a row, at least 1.
        most: the largest count, at least 1.
        total: the sum of every row; None: no claim about sums.
        norm: the bound on every row, or on all together; None: no claim about norms.
        signed: whether counts with a norm range from -`most` to `most`, which is then a `reach_of_digits`.
        lowest: the smallest count, at most 0, if neither totals nor norms are claimed.
    """

    rows: int
    cells: int
    most: int
    total: int | None
    norm: Norm | None = None
    signed: bool = False
    lowest: int = 0

    def __post_init__(self) -> None:
        if min(self.rows, self.cells, self.most) < 1:
            raise ValueError("a statement has at least one row, one cell and a largest count of 1")
        if self.total is not None and not 0 <= self.total <= self.cells * self.most:
            raise ValueError(f"{self.cells} counts up to {self.most} never sum to {self.total}")
        if self.signed and (self.norm is None or not _is_power(2 * self.most + 1)):
            raise ValueError(f"signed counts have a norm, and are all that digits of {SIGNED_BASE} write")
        if self.lowest > 0 or (self.lowest and (self.total is not None or self.norm is not None)):
            raise ValueError("a lowest count is at most 0, and below that for counts without total or norm")
        if self.norm is not None and (self.total is not None or (self.norm.unit > 1 and not self.signed)):
            raise ValueError(
                "what has a norm has no total, and only norms of signed counts are of rounded ones"
            )

    @property
    def least(self) -> int:
        """The smallest count."""
        return -self.most if self.signed else self.lowest

    @property
    def size(self) -> int:
        """Number of counts in all rows."""
        return self.rows * self.cells

    @property
    def largest(self) -> int:
        """The largest number that a sum of powers, or norms, can reach with digits in range.

        Counts below 0 without a norm are not added up; they only must not wrap around.
        """
        if self.norm is None:
            return self.most - self.least if self.lowest else self.cells * self.most
        highest = (self.most + self.norm.unit // 2) // self.norm.unit
        rows = self.rows if self.norm.joint else 1
        # For jointly bounded norms, the norms of the rows and their sum are written, each up to the bound.
        written = (rows + self.norm.joint) * self.norm.most
        return max(rows * self.cells * int(highest**self.norm.power), written, self.most - self.least)


def _is_power(number: int) -> bool:
    while number > 1 and number % SIGNED_BASE == 0:
        number //= SIGNED_BASE
    return number == 1
