"""GNMax (Papernot et al. 2018, section 3.1)."""

from typing import ClassVar, Literal

from pydantic import Field

from ostraka.common.mechanism.error_rates import miss_probability
from ostraka.common.mechanism.mechanism import Draw, Mechanism, Votes
from ostraka.common.privacy.argmax import argmax_rdp, argmax_reach
from ostraka.common.privacy.worst_case import WorstCase
from ostraka.common.sharing.ballots import ClassCounts


class GnMax(Mechanism):
    """Release the class with the most votes after noise of standard deviation `sigma` votes."""

    blind: ClassVar[bool] = True
    charged_as: ClassVar[str] = "an argmax with Gaussian noise for every query"
    gaussian: ClassVar[bool] = True

    kind: Literal["gnmax"] = "gnmax"
    sigma: Votes = Field(description="Noise of every count, in votes.")

    @property
    def ballot(self) -> ClassCounts:
        """Votes for each class."""
        return ClassCounts()

    @property
    def reach(self) -> float:
        """The larger of the reach for the argmax's worst case and the reach for the check."""
        return max(super().reach, argmax_reach(self.sigma))

    def draws(self, rows: int, classes: int) -> list[Draw]:
        """Return the noise of every count."""
        return [Draw.gaussian(self.sigma, rows, classes)]

    def cost(self, order: float, sensitivity: float, classes: int) -> WorstCase:
        """Return the cost of an argmax for every query."""
        return WorstCase(answer=argmax_rdp(order, sensitivity, self.sigma, classes))

    def known_error(self, teachers: int, classes: int) -> float:
        """Bound the probability that noise outweighs the votes of all teachers."""
        return miss_probability(teachers, teachers, classes, self.sigma)
