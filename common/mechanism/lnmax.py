"""LNMax, the baseline: the first PATE paper's mechanism."""

from typing import ClassVar, Literal

from ostraka.common.mechanism.draw import Draw
from ostraka.common.mechanism.error_rates import lost_by_laplace
from ostraka.common.mechanism.mechanism import Mechanism, PerVote
from ostraka.common.privacy.worst_case import WorstCase, pure_rdp
from ostraka.common.sharing.ballots import ClassCounts


class LnMax(Mechanism):
    """Release the class with the most votes after Laplace noise of scale 1/`gamma` votes."""

    blind: ClassVar[bool] = True

    kind: Literal["lnmax"] = "lnmax"
    gamma: PerVote

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
        """How far noise may carry a count, in votes: 750 scales, because e^-750 is no number any more."""
        return 750 * self.scale

    def draws(self, rows: int, classes: int) -> list[Draw]:
        """Return the noise of every count."""
        return [Draw.laplace(self.scale, rows, classes)]

    def cost(self, order: float, sensitivity: float, classes: int) -> WorstCase:
        """Return the cost of a pure guarantee of 2 gamma a vote for every query."""
        return WorstCase(answer=pure_rdp(2 * self.gamma * sensitivity, order))

    def known_error(self, teachers: int, classes: int) -> float:
        """Bound the probability that noise beats the votes of all teachers."""
        return lost_by_laplace(teachers, classes, self.gamma)
