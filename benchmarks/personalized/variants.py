"""The variants of Mühl and Boenisch 2022: one ensemble's labels before a process must stop."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.personalized.budgets import Account, Notion, affordable
from benchmarks.personalized.data import PARAMETERS
from benchmarks.personalized.participation import participation
from benchmarks.personalized.voting import Answers, Ballots, Prices, answer, histogram
from ostraka.common.privacy import ONE_VOTE, Influence
from ostraka.guardian.accounting.numerics.arguments import Floats

FIRST_QUERIES = 256
"""Number of queries charged at first; it doubles until a budget runs out."""


@dataclass(frozen=True)
class Produced:
    """The output of a voting process before any budget was exceeded.

    Attributes:
        rows: public records that were labelled, int64 (L,).
        labels: their labels, int64 (L,).
        whole_pool: whether the public records ran out before a budget did.
    """

    rows: NDArray[np.int64]
    labels: NDArray[np.int64]
    whole_pool: bool


@dataclass(frozen=True)
class Side:
    """Units of one budget that all participate in every query: their influence, and their epsilon."""

    influence: Influence
    epsilon: float


class Pool:
    """One ensemble's ballots on the public records if all teachers participate."""

    def __init__(self, votes: NDArray[np.uint8], dataset: str, weights: Floats) -> None:
        """Take votes (teachers, pool) and each teacher's weight (teachers,)."""
        self._parameters = PARAMETERS[dataset]
        counts = histogram(votes, self._parameters.classes, weights)
        scale = np.full(len(counts), weights.sum() / self._parameters.teachers)
        self._ballots = Ballots(counts, scale)
        self._prices = Prices(self._parameters)

    def run(self, sides: Sequence[Side], notion: Notion, random: np.random.Generator) -> Produced:
        """Ask in a random order until any side's budget is exceeded."""
        order = random.permutation(len(self._ballots.scale))
        answers = answer(self._ballots.rows(order), self._parameters, random)

        def accounts(queries: int) -> list[Account]:
            first = self._ballots.rows(order[:queries])
            answered = answers.answered[:queries]
            everyone = np.ones((queries, 1), dtype=bool)
            return [
                Account(
                    self._prices.charges(first, answered, side.influence, notion.bound),
                    everyone,
                    notion.limits(side.epsilon),
                )
                for side in sides
            ]

        return _until_exceeded(order, answers, accounts)


def vanishing(
    votes: NDArray[np.uint8],
    prices: Prices,
    higher: NDArray[np.bool_],
    period: int,
    epsilons: tuple[float, float],
    notion: Notion,
    random: np.random.Generator,
) -> Produced:
    """Ask in a random order until any teacher's budget is exceeded.

    Args:
        votes: (teachers, pool).
        prices: of the dataset; threshold and deviations scale with the participating teachers.
        higher: teachers (teachers,) of the higher budget, which participate in every query.
        period: number of queries of which every other teacher participates in one.
        epsilons: the lower and the higher budget.
        notion: how costs are counted.
        random: draws order, cohorts and noise.
    """
    parameters = prices.parameters
    order = random.permutation(votes.shape[1])
    took_part = participation(higher, period, len(order), random)
    counts = histogram(votes[:, order], parameters.classes, took_part.astype(np.float64))
    ballots = Ballots(counts, took_part.sum(axis=1) / parameters.teachers)
    answers = answer(ballots, parameters, random)

    def accounts(queries: int) -> list[Account]:
        first = slice(0, queries)
        spent = prices.charges(ballots.rows(first), answers.answered[first], ONE_VOTE, notion.bound)
        return [
            Account(spent, took_part[first, chosen], notion.limits(epsilon))
            for chosen, epsilon in zip((~higher, higher), epsilons, strict=True)
        ]

    return _until_exceeded(order, answers, accounts)


def _until_exceeded(
    order: NDArray[np.int64], answers: Answers, accounts: Callable[[int], Sequence[Account]]
) -> Produced:
    """Charge increasingly many of the first queries, until they exceed the accounts."""
    queries = min(FIRST_QUERIES, len(order))
    while (asked := affordable(accounts(queries))) == queries < len(order):
        queries = min(2 * queries, len(order))
    chosen = np.flatnonzero(answers.answered[:asked])
    return Produced(order[chosen], answers.labels[chosen], asked == len(order))
