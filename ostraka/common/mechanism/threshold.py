"""A threshold on the share of votes: yes even if only few teachers say so, for rare classes."""

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ostraka.common.mechanism.error_rates import miss_probability
from ostraka.common.mechanism.mechanism import Draw, Mechanism, Votes, invalid_plan
from ostraka.common.privacy.worst_case import WorstCase, check_rdp
from ostraka.common.sharing.ballots import ClassCounts


class Threshold(Mechanism):
    """Release the second of two classes where its share of the votes, after noise, reaches `share`."""

    charged_as: ClassVar[str] = "an answer with two outcomes for every query"
    gaussian: ClassVar[bool] = True

    kind: Literal["threshold"] = "threshold"
    sigma: Votes = Field(description="Noise of both counts, in votes.")
    share: Annotated[float, Field(gt=0, lt=1)] = Field(
        description="Share of the votes from which the task's second class is released."
    )

    @property
    def ballot(self) -> ClassCounts:
        """Votes for each class."""
        return ClassCounts()

    def draws(self, rows: int, classes: int) -> list[Draw]:
        """Return the noise of both counts."""
        return [Draw.gaussian(self.sigma, rows, 2)]

    def cost(self, order: float, sensitivity: float, classes: int) -> WorstCase:
        """Return the cost of one answer with two outcomes, as for a label in `binary`."""
        # Both counts move, each with its own noise: the difference of the two draws has sqrt(2) deviations.
        return WorstCase(answer=check_rdp(order, math.sqrt(2) * sensitivity, self.sigma))

    def known_error(self, teachers: int, classes: int) -> float:
        """Bound the probability that noise moves unanimous votes across the threshold."""
        margin = min(self.share, 1 - self.share)
        return miss_probability((0.5 + margin) * teachers, teachers, 2, self.sigma)

    def check_classes(self, classes: int) -> None:
        """Raise `plan.invalid` unless there are exactly two classes."""
        if classes != 2:
            raise invalid_plan(
                f"a threshold tells two classes apart and the task has {classes}; choose confident"
            )

    def lead(self, totals: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the lead that the second class needs for the answer, in steps of 2^-16 votes.

        It is the least whole number of steps at which the class has `share` of all votes, `totals` (Q,) in
        such steps; below one half it is negative. It depends only on public numbers, so its rounding costs
        nothing.
        """
        return np.asarray(np.ceil((2 * self.share - 1) * totals), dtype=np.int64)

    def rule(self, classes: tuple[str, ...]) -> str:
        """Return the rule from votes to labels, for people."""
        return f"'{classes[1]}' from {100 * self.share:.3g}% of the votes on, else '{classes[0]}'"
