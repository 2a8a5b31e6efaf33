"""What a party claims of the counts that it shares."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Statement:
    """A matrix of counts, each from 0 to `most`, of which every row sums to `total`.

    Attributes:
        rows: number of queries, at least 1.
        cells: counts of a row, at least 1.
        most: the largest count, at least 1.
        total: the sum of every row; None: nothing is claimed of sums.
    """

    rows: int
    cells: int
    most: int
    total: int | None

    def __post_init__(self) -> None:
        """Refuses statements about nothing, and sums that no counts have."""
        if min(self.rows, self.cells, self.most) < 1:
            raise ValueError("a statement has at least one row, one cell and a largest count of 1")
        if self.total is not None and not 0 <= self.total <= self.cells * self.most:
            raise ValueError(f"{self.cells} counts up to {self.most} never sum to {self.total}")

    @property
    def size(self) -> int:
        """Counts of all rows."""
        return self.rows * self.cells
