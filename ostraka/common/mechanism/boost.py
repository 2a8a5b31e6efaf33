"""Boost: rounds in which residuals are summed in the bins of one feature (Nori et al. 2021)."""

from typing import ClassVar, Literal

from pydantic import Field

from ostraka.common.mechanism.mechanism import Positive
from ostraka.common.mechanism.moments import SIGMA
from ostraka.common.mechanism.record_sums import Block, Count, RecordSums
from ostraka.common.sums.sensitivity import MOVED_HISTOGRAM


class Boost(RecordSums):
    """Release, in each round, the sum of clipped residuals in every bin of one feature.

    Attributes:
        bins: maximum number of bins of a feature.
        outputs: number of scores of a record, k.
        sigma: noise of each sum, relative to the radius to which residuals are clipped.
    """

    gaussian: ClassVar[bool] = True
    charged_as: ClassVar[str] = "one Gaussian sum a round"

    kind: Literal["boost"] = "boost"
    bins: Count = Field(description="Bins of a feature, at most.")
    outputs: Count = Field(description="Scores of a record.")
    sigma: Positive = Field(description=SIGMA)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """As in `RecordSums.blocks`: a single block."""
        return (Block(self.bins * self.outputs, MOVED_HISTOGRAM, self.sigma),)

    @property
    def released(self) -> str:
        """As in `Mechanism.released`."""
        return f"sum of {self.bins} x {self.outputs} residuals for a model"
