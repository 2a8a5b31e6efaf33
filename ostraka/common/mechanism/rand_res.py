"""Randomised response: noise that is drawn at the site of the label (Tang et al. 2022, section 4.2.1)."""

from decimal import Context, Decimal
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ostraka.common.mechanism.mechanism import Draw, Mechanism, invalid_plan
from ostraka.common.privacy.worst_case import WorstCase, randomized_rdp
from ostraka.common.sharing.ballots import RandomizedLabels

TRUTH_BITS = 64
"""Probabilities of randomised labels are multiples of 2^-64."""
MAX_EPSILON = 2.0**20
"""Far above any useful epsilon of randomised labels, but low enough for a finite cost."""

EXACT = Context(prec=80)
"""Decimals of 80 digits, identical at all sites."""
DOWN = EXACT.subtract(Decimal(1), Decimal("1e-60"))
"""Factor that lowers a probability by more than its rounding error, and by far less than a step."""


class RandRes(Mechanism):
    """Release labels that their parties randomised, each `epsilon`-label-DP.

    A query is a record whose features all sites know. The party with its label answers with a newly drawn
    one: the true label with probability `truth`, else any other label.
    """

    by_record: ClassVar[bool] = True
    party_setting = "randomized_labels"
    charged_as: ClassVar[str] = "pure epsilon-label-DP for all queries together"
    adjacencies = ("label",)

    gaussian: ClassVar[bool] = True

    kind: Literal["rand_res"] = "rand_res"
    epsilon: Annotated[float, Field(gt=0, le=MAX_EPSILON, allow_inf_nan=False)] = Field(
        description="Epsilon of what a record answers (label-DP)."
    )

    @property
    def ballot(self) -> RandomizedLabels:
        """Ballots of randomized labels."""
        return RandomizedLabels(self.epsilon)

    def draws(self, rows: int, classes: int) -> list[Draw]:
        """Return no draws: the guardian draws nothing."""
        return []

    def cost(self, order: float, sensitivity: float, classes: int) -> WorstCase:
        """Return the cost of `sensitivity` labels of a unit, each used at most once in a batch."""
        return WorstCase(batch=sensitivity * randomized_rdp(self.epsilon, classes, order))

    def known_error(self, teachers: int, classes: int) -> float:
        """Return the exact probability of another class, for a label of a single party."""
        return 1 - self.truth(classes)

    def truth(self, classes: int) -> float:
        """Return the probability of the true label, e^epsilon / (e^epsilon + classes - 1).

        Tang et al. 2022, Equation 6.
        """
        return float(self._truth(classes))

    def truth_steps(self, classes: int) -> int:
        """Return `truth` in steps of 2^-64, rounded down: never above Equation 6, never 1."""
        return int(EXACT.multiply(Decimal(2**TRUTH_BITS), EXACT.multiply(self._truth(classes), DOWN)))

    def check_classes(self, classes: int) -> None:
        """Raise `plan.invalid` for an epsilon at which the true label would not be the likeliest."""
        if self.truth_steps(classes) * classes <= 2**TRUTH_BITS:
            raise invalid_plan(f"labels of epsilon {self.epsilon:g} say nothing; ask for a larger epsilon")

    def _truth(self, classes: int) -> Decimal:
        others = EXACT.multiply(Decimal(classes - 1), EXACT.exp(Decimal(-self.epsilon)))
        return EXACT.divide(Decimal(1), EXACT.add(Decimal(1), others))
