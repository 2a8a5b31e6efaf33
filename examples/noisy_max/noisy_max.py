"""The largest count after Laplace noise of a scale in votes: all that is public about it."""

from typing import ClassVar, Literal

from pydantic import Field

from ostraka.mechanisms import ClassCounts, Draw, Mechanism, Votes, WorstCase, pure_rdp


class NoisyMax(Mechanism):
    """Release the class with the most votes after Laplace noise of `scale` votes."""

    charged_as: ClassVar[str] = "pure 2/scale-DP for every query"

    kind: Literal["noisy_max"] = "noisy_max"
    scale: Votes = Field(description="Scale of the Laplace noise of every count, in votes.")

    @property
    def ballot(self) -> ClassCounts:
        """Votes for each class."""
        return ClassCounts()

    def draws(self, rows: int, classes: int) -> list[Draw]:
        """Return the noise of every count."""
        return [Draw.laplace(self.scale, rows, classes)]

    def cost(self, order: float, sensitivity: float, classes: int) -> WorstCase:
        """Return the cost of a pure guarantee: a vote that moves changes two counts by one."""
        return WorstCase(answer=pure_rdp(2 * sensitivity / self.scale, order))
