"""Statistics: counts of records by the values of columns."""

import math
from typing import ClassVar, Literal

from pydantic import Field

from ostraka.common.mechanism.mechanism import Positive
from ostraka.common.mechanism.record_sums import Block, Count, RecordSums
from ostraka.common.sums.sensitivity import move_of_statistics


class Statistics(RecordSums):
    """Release counts of records by value or by bin of public ranges, for several columns at once.

    Attributes:
        cells: number of counts of all columns together.
        columns: number of columns that are counted; a record is in at most one cell of each.
        sigma: noise of each count, in records.
    """

    gaussian: ClassVar[bool] = True
    charged_as: ClassVar[str] = "one Gaussian sum"

    kind: Literal["statistics"] = "statistics"
    cells: Count = Field(description="Counts of all columns together.")
    columns: Count = Field(description="Columns that are counted.")
    sigma: Positive = Field(description="Noise of each count, in records.")

    @property
    def blocks(self) -> tuple[Block, ...]:
        """As in `RecordSums.blocks`: a single block."""
        moved = move_of_statistics(self.columns)
        return (Block(self.cells, moved, self.sigma, norm=math.sqrt(self.columns)),)

    @property
    def released(self) -> str:
        """As in `Mechanism.released`."""
        return f"count of records in {self.cells} cells"
