"""Randomised response for several labels: some of a record's labels, told together or not at all."""

from decimal import Decimal
from functools import lru_cache
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ostraka.common.mechanism.mechanism import Draw, Mechanism, invalid_plan
from ostraka.common.mechanism.rand_res import DOWN, EXACT, TRUTH_BITS
from ostraka.common.privacy.worst_case import WorstCase, randomized_rdp
from ostraka.common.sharing.ballots import RandomizedLabelSets

MAX_EPSILON = 500.0
"""Far above any at which labels are randomised; what it costs is a number still."""


class RandResLabels(Mechanism):
    """Release some labels of each record that its party randomised, all together `epsilon`-label-DP.

    A query is a record that all sites know the features of. Whoever holds its labels draws `drawn` of them,
    whatever they are, and answers these: all as they are with probability `truth`, else a coin for each.
    """

    multi_label: ClassVar[bool] = True
    by_record: ClassVar[bool] = True
    party_setting = "randomized_labels"
    charged_as: ClassVar[str] = "pure epsilon-label-DP for all queries together"
    adjacencies = ("label",)

    gaussian: ClassVar[bool] = True

    kind: Literal["rand_res_labels"] = "rand_res_labels"
    epsilon: Annotated[float, Field(gt=0, le=MAX_EPSILON, allow_inf_nan=False)] = Field(
        description="Epsilon of what a record answers (label-DP)."
    )

    @property
    def ballot(self) -> RandomizedLabelSets:
        """Ballots of randomized labels."""
        return RandomizedLabelSets(self.epsilon)

    def draws(self, rows: int, classes: int) -> list[Draw]:
        """Return none: the guardian draws nothing."""
        return []

    def cost(self, order: float, sensitivity: float, classes: int) -> WorstCase:
        """Return the cost of `sensitivity` records of a unit, each answering at most once in a batch."""
        sets = 2 ** self.drawn(classes)
        return WorstCase(batch=sensitivity * randomized_rdp(self.epsilon, sets, order))

    def known_error(self, teachers: int, classes: int) -> float:
        """Return exactly the probability of a wrong label, for one that is answered and one party holds."""
        return (1 - self.truth(classes)) / 2

    def drawn(self, labels: int) -> int:
        """Return how many of so many labels a record answers: as tell most of all labels together.

        That is the `s` with the largest s truth(s)^2: an estimate of how often a label occurs, from answers
        that are right with probability (1 + truth)/2, has a variance of one over that.
        """
        return _most_telling(self.epsilon, labels)

    def truth(self, labels: int) -> float:
        """Return the probability that a record answers with its labels as they are.

        That is (r - 1)/(r + 2^s - 1) with r = e^epsilon; with 2^-s of the rest it is Equation 6 of Tang et
        al. 2022 for the sets of the s labels drawn.
        """
        return float(_truth(self.epsilon, self.drawn(labels)))

    def told_steps(self, labels: int) -> int:
        """Return `truth` in steps of 2^-64, rounded down: never above its formula, never 1."""
        truth = EXACT.multiply(_truth(self.epsilon, self.drawn(labels)), DOWN)
        return int(EXACT.multiply(Decimal(2**TRUTH_BITS), truth))

    def check_classes(self, classes: int) -> None:
        """Raise `plan.invalid` for an epsilon at which no label would ever be told."""
        if not self.told_steps(classes):
            raise invalid_plan(f"labels of epsilon {self.epsilon:g} say nothing; ask for a larger epsilon")


def _truth(epsilon: float, drawn: int) -> Decimal:
    odds = EXACT.exp(Decimal(-epsilon))
    return EXACT.divide(EXACT.subtract(Decimal(1), odds), _spread(odds, drawn))


def _spread(odds: Decimal, drawn: int) -> Decimal:
    """1 + (2^drawn - 1)/r, for odds of 1/r: what probabilities of sets are divided by."""
    return EXACT.add(
        Decimal(1), EXACT.multiply(EXACT.subtract(EXACT.power(Decimal(2), drawn), Decimal(1)), odds)
    )


@lru_cache(maxsize=1024)
def _most_telling(epsilon: float, labels: int) -> int:
    """Return the s up to `labels` with the largest s/spread(s)^2, which rises up to it and falls beyond."""
    odds = EXACT.exp(Decimal(-epsilon))
    drawn = 1
    while drawn < labels:
        here = _spread(odds, drawn)
        there = _spread(odds, drawn + 1)
        gain = EXACT.multiply(Decimal(drawn + 1), EXACT.multiply(here, here))
        if gain <= EXACT.multiply(Decimal(drawn), EXACT.multiply(there, there)):
            break
        drawn += 1
    return drawn
