"""LNMax, the baseline: the first PATE paper's mechanism."""

import math
from typing import ClassVar, Literal

from pydantic import Field

from ostraka.common.mechanism.error_rates import laplace_miss_probability
from ostraka.common.mechanism.mechanism import Draw, Mechanism, PerVote
from ostraka.common.privacy.worst_case import WorstCase, laplace_rdp
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sharing.ballots import ClassCounts


class LnMax(Mechanism):
    """Release the class with the most votes after Laplace noise of scale 1/`gamma` votes."""

    blind: ClassVar[bool] = True
    charged_as: ClassVar[str] = "two counts with Laplace noise for every query, at most pure 2 gamma-DP"
    gaussian: ClassVar[bool] = True

    kind: Literal["lnmax"] = "lnmax"
    gamma: PerVote = Field(description="Inverse scale of Laplace noise, in one over votes.")

    @property
    def scale(self) -> float:
        """Scale of the Laplace noise, in votes."""
        return 1 / self.gamma

    @property
    def ballot(self) -> ClassCounts:
        """Votes for each class."""
        return ClassCounts()

    @property
    def reach(self) -> float:
        """Room for 750 noise scales in the half of the ring that folded counts leave free.

        e^-750 is zero in double precision.
        """
        return 1500 * self.scale

    def draws(self, rows: int, classes: int) -> list[Draw]:
        """Return the noise of every count."""
        return [Draw.laplace(self.scale, rows, classes)]

    def cost(self, order: float, sensitivity: float, classes: int) -> WorstCase:
        """Return the cost of two noisy counts for every query; the argmax is a function of them.

        A unit moves each count by at most its votes, and all counts together by at most twice that
        (docs/accounting-mechanisms.md).
        """
        step = math.ldexp(self.gamma, -FRACTION_BITS)
        return WorstCase(answer=2 * laplace_rdp(order, self.gamma * sensitivity, step))

    def known_error(self, teachers: int, classes: int) -> float:
        """Bound the probability that noise outweighs the votes of all teachers."""
        return laplace_miss_probability(teachers, classes, self.gamma)
