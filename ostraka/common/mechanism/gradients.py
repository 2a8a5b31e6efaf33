"""Gradients: rounds in which gradients of a loss at a public model are summed (Abadi et al. 2016)."""

from typing import ClassVar, Literal

from pydantic import Field

from ostraka.common.mechanism.mechanism import Positive
from ostraka.common.mechanism.moments import SIGMA
from ostraka.common.mechanism.record_sums import Block, Count, RecordSums
from ostraka.common.sums.sensitivity import MOVED_GRADIENT


class Gradients(RecordSums):
    """Release, in each round, the sum of all records' clipped gradients at a public model.

    Attributes:
        parameters: number of parameters of the model.
        sigma: noise of each parameter, relative to the radius to which gradients are clipped.
    """

    gaussian: ClassVar[bool] = True
    charged_as: ClassVar[str] = "one Gaussian sum a round"

    kind: Literal["gradients"] = "gradients"
    parameters: Count = Field(description="Parameters of the model.")
    sigma: Positive = Field(description=SIGMA)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """As in `RecordSums.blocks`: a single block."""
        return (Block(self.parameters, MOVED_GRADIENT, self.sigma),)

    @property
    def released(self) -> str:
        """As in `Mechanism.released`."""
        return f"sum of gradients for a model of {self.parameters} parameters"
