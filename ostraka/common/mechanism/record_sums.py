"""Base of mechanisms that release sums over records: every party adds a vector for each of its records.

docs/sums.md explains the maths, and proves the cost of a sum.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

from pydantic import Field

from ostraka.common.mechanism.mechanism import Draw, Mechanism
from ostraka.common.privacy.worst_case import WorstCase, gaussian_rdp
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sharing.ballots import Updates
from ostraka.common.sums.sensitivity import move_on_lattice

MAX_VALUES = 2**24
"""Maximum number of values of a sum: as many as the largest share that sites accept."""
NOISE = ("sigma", "gram_sigma")
"""Names of parameters that are noise."""
Count = Annotated[int, Field(gt=0, le=MAX_VALUES)]


@dataclass(frozen=True)
class Block:
    """Values of a sum that are bounded together and share their noise.

    Attributes:
        width: number of values.
        moved: how far replacing one record moves them, as an L2 norm, if each record's part has norm 1 at
            most.
        sigma: noise of each value.
        norm: the largest norm of a record's part.
    """

    width: int
    moved: float
    sigma: float
    norm: float = 1.0

    def rdp(self, order: float, records: float) -> float:
        """Return the cost of replacing this many records, or records with this total weight."""
        moved = move_on_lattice(self.moved, self.width, FRACTION_BITS, records)
        return gaussian_rdp(order, moved, self.sigma)


class RecordSums(Mechanism):
    """A mechanism that releases a sum over records, in blocks with one Gaussian noise each."""

    labels_queries: ClassVar[bool] = False
    by_record: ClassVar[bool] = True
    sums_records: ClassVar[bool] = True

    @property
    @abstractmethod
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of a sum, in order."""

    @property
    def ballot(self) -> Updates:
        """One value for each value of the sum."""
        return Updates(sum(block.width for block in self.blocks))

    def with_noise(self, factor: float) -> Self:
        """Return the same sums with `factor` times the noise in every block."""
        noise = {name: value * factor for name, value in self if name in NOISE and value is not None}
        return self.model_copy(update=noise)

    def draws(self, rows: int, classes: int) -> list[Draw]:
        """Return the noise of each block."""
        return [Draw.gaussian(block.sigma, rows, block.width) for block in self.blocks]

    def cost(self, order: float, sensitivity: float, classes: int) -> WorstCase:
        """Return the cost of one sum: the total of its blocks, whose noise is independent (docs/sums.md)."""
        return WorstCase(answer=math.fsum(block.rdp(order, sensitivity) for block in self.blocks))
