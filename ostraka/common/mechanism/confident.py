"""Confident GNMax (Papernot et al. 2018, Algorithm 1)."""

from typing import ClassVar, Literal

from pydantic import Field

from ostraka.common.mechanism.error_rates import miss_probability
from ostraka.common.mechanism.mechanism import Check, Draw, Mechanism, Votes
from ostraka.common.privacy.argmax import argmax_rdp, argmax_reach
from ostraka.common.privacy.worst_case import WorstCase, check_rdp
from ostraka.common.sharing.ballots import ClassCounts


class CheckedArgmax(Mechanism):
    """An argmax with noise of `sigma2` if a check with noise of `sigma1` reaches `threshold` votes."""

    charged_as: ClassVar[str] = "a Gaussian for the check of every query, an argmax for every answer"

    sigma1: Votes = Field(description="Noise of the check, in votes.")
    sigma2: Votes = Field(description="Noise of every count of an answer, in votes.")
    threshold: Votes = Field(description="Votes required by the check.")

    @property
    def ballot(self) -> ClassCounts:
        """Votes for each class."""
        return ClassCounts()

    @property
    def noisy_check(self) -> Check:
        """The check of every query."""
        return Check(sigma=self.sigma1, threshold=self.threshold)

    @property
    def reach(self) -> float:
        """The larger of the reach for the argmax's worst case and the reach for the check."""
        return max(super().reach, argmax_reach(self.sigma2))

    def draws(self, rows: int, classes: int) -> list[Draw]:
        """Return the noise of the checks and of every count."""
        return [Draw.gaussian(self.sigma1, rows), Draw.gaussian(self.sigma2, rows, classes)]

    def cost(self, order: float, sensitivity: float, classes: int) -> WorstCase:
        """Return the cost of a check for every query and of an argmax for every answer."""
        check = check_rdp(order, sensitivity, self.sigma1)
        return WorstCase(check=check, answer=argmax_rdp(order, sensitivity, self.sigma2, classes))

    def known_error(self, teachers: int, classes: int) -> float:
        """Bound the probability that noise outweighs as many votes as the check requires."""
        return miss_probability(self.threshold, teachers, classes, self.sigma2)


class Confident(CheckedArgmax):
    """Release GNMax with `sigma2` where the largest count plus noise of `sigma1` reaches `threshold`
    votes."""

    blind: ClassVar[bool] = True
    gaussian: ClassVar[bool] = True

    kind: Literal["confident"] = "confident"
