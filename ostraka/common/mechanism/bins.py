"""Bins: moments of records whose numbers were put into bins."""

from typing import ClassVar, Literal

from pydantic import Field

from ostraka.common.mechanism.mechanism import Positive
from ostraka.common.mechanism.moments import SIGMA, moment_blocks, moments_words
from ostraka.common.mechanism.record_sums import Block, Count, RecordSums


class Bins(RecordSums):
    """Release `Moments` of records whose numbers were put into bins, each bin being a column of 0 and 1.

    Attributes:
        columns: number of values of a mapped record, d: all bins, and a constant.
        codes: number of values of a code, k.
        sigma: as in `Moments`.
        gram_sigma: as in `Moments`.
    """

    gaussian: ClassVar[bool] = True
    charged_as: ClassVar[str] = "one Gaussian sum, and one more for the Gram matrix"

    kind: Literal["bins"] = "bins"
    columns: Count = Field(description="Values of a mapped record: all bins, and a constant.")
    codes: Count = Field(description="Values of a label's code.")
    sigma: Positive = Field(description=SIGMA)
    gram_sigma: Positive | None = Field(default=None, description="Noise of the Gram matrix.")

    @property
    def blocks(self) -> tuple[Block, ...]:
        """As in `RecordSums.blocks`: codes, then the packed Gram matrix."""
        return moment_blocks(self.columns, self.codes, self.sigma, self.gram_sigma)

    @property
    def released(self) -> str:
        """As in `Mechanism.released`."""
        return moments_words(self.columns, self.codes, self.gram_sigma)
