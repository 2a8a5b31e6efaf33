"""What a party claims of the counts that it shares."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Norm:
    """What counts of a row sum to at most, each raised to a power.

    Attributes:
        power: 1 for the L1 norm, 2 for the L2 norm.
        most: the largest sum, at least 1.
    """

    power: Literal[1, 2]
    most: int

    def __post_init__(self) -> None:
        if self.most < 1:
            raise ValueError("the largest norm of a statement is at least 1")

    def of(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of powers of each row of counts (rows, cells), (rows,)."""
        return np.asarray((counts**self.power).sum(axis=1), np.int64)


@dataclass(frozen=True)
class Statement:
    """A matrix of counts, each from 0 to `most`, of which every row sums to `total` or is within `norm`.

    Attributes:
        rows: number of queries, at least 1.
        cells: counts of a row, at least 1.
        most: the largest count, at least 1.
        total: the sum of every row; None: nothing is claimed of sums.
        norm: of every row; None: nothing is claimed of norms.
    """

    rows: int
    cells: int
    most: int
    total: int | None
    norm: Norm | None = None

    def __post_init__(self) -> None:
        if min(self.rows, self.cells, self.most) < 1:
            raise ValueError("a statement has at least one row, one cell and a largest count of 1")
        if self.total is not None and not 0 <= self.total <= self.cells * self.most:
            raise ValueError(f"{self.cells} counts up to {self.most} never sum to {self.total}")

    @property
    def size(self) -> int:
        """Counts of all rows."""
        return self.rows * self.cells

    @property
    def largest(self) -> int:
        """The largest number that a row's sum of powers, or its norm, comes to, within the claim or not."""
        if self.norm is None:
            return self.cells * self.most
        return max(self.cells * int(self.most**self.norm.power), self.norm.most)
