"""Randomised response for several labels: a subset of a record's labels, kept or randomised together."""

from decimal import Decimal
from functools import lru_cache
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ostraka.common.mechanism.mechanism import Draw, Mechanism, invalid_plan
from ostraka.common.mechanism.rand_res import DOWN, EXACT, TRUTH_BITS
from ostraka.common.privacy.worst_case import WorstCase, randomized_rdp
from ostraka.common.sharing.ballots import RandomizedLabelSets

MAX_EPSILON = 500.0
"""Far above any useful epsilon of randomised labels, but low enough for a finite cost."""


class RandResLabels(Mechanism):
    """Release some labels of each record that its party randomised, all together `epsilon`-label-DP.

    A query is a record whose features all sites know. The party with its labels draws `drawn` of them at
    random and answers these: with probability `truth` all true labels, else a fair coin for each.
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
        """Return no draws: the guardian draws nothing."""
        return []

    def cost(self, order: float, sensitivity: float, classes: int) -> WorstCase:
        """Return the cost of `sensitivity` records of a unit, each answering at most once in a batch."""
        sets = 2 ** self.drawn(classes)
        return WorstCase(batch=sensitivity * randomized_rdp(self.epsilon, sets, order))

    def known_error(self, teachers: int, classes: int) -> float:
        """Return the exact probability of a wrong label, for a label that is answered by a single party."""
        return (1 - self.truth(classes)) / 2

    def drawn(self, labels: int) -> int:
        """Return how many labels a record answers out of `labels`: the number that is most informative.

        It is the `s` with the largest s truth(s)^2. Answers are right with probability (1 + truth)/2, and an
        estimate of a label's frequency from them has a variance of one over that value.
        """
        return _most_telling(self.epsilon, labels)

    def truth(self, labels: int) -> float:
        """Return the probability that a record answers with its true labels.

        It is (r - 1)/(r + 2^s - 1) with r = e^epsilon. Together with 2^-s of the rest, it is Equation 6 of
        Tang et al. 2022 for the sets of the s drawn labels.
        """
        return float(_truth(self.epsilon, self.drawn(labels)))

    def told_steps(self, labels: int) -> int:
        """Return `truth` in steps of 2^-64, rounded down: never above its formula, never 1."""
        truth = EXACT.multiply(_truth(self.epsilon, self.drawn(labels)), DOWN)
        return int(EXACT.multiply(Decimal(2**TRUTH_BITS), truth))

    def check_classes(self, classes: int) -> None:
        """Raise `plan.invalid` for an epsilon at which the true labels would never be answered."""
        if not self.told_steps(classes):
            raise invalid_plan(f"labels of epsilon {self.epsilon:g} say nothing; ask for a larger epsilon")


def _truth(epsilon: float, drawn: int) -> Decimal:
    odds = EXACT.exp(Decimal(-epsilon))
    return EXACT.divide(EXACT.subtract(Decimal(1), odds), _spread(odds, drawn))


def _spread(odds: Decimal, drawn: int) -> Decimal:
    """Return 1 + (2^drawn - 1)/r, for odds of 1/r: the denominator of the probabilities of sets."""
    return EXACT.add(
        Decimal(1), EXACT.multiply(EXACT.subtract(EXACT.power(Decimal(2), drawn), Decimal(1)), odds)
    )


@lru_cache(maxsize=1024)
def _most_telling(epsilon: float, labels: int) -> int:
    """Return the s up to `labels` with the largest s/spread(s)^2; it rises up to that s and falls beyond."""
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
