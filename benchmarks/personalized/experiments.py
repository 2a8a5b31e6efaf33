"""Every configuration of the tables, averaged over voting processes."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.personalized import student
from benchmarks.personalized.budgets import NOTIONS, Notion
from benchmarks.personalized.cells import FACTORS, RATIOS, Cell
from benchmarks.personalized.data import DELTA, PARAMETERS, SMALL, Split
from benchmarks.personalized.participation import higher_teachers, weights
from benchmarks.personalized.variants import Pool, Produced, Side, vanishing
from benchmarks.personalized.voting import Prices
from ostraka.common.privacy import ONE_VOTE, Influence, proportions

LOWER = math.log(2)
"""The lower budget; the higher one is `factor` times as large."""
POWERS = {"v": 2, "v4": 4}
"""Vanishing's frequencies: 1/factor^2, and 1/factor^4 as in footnote 3 of Mühl and Boenisch 2022."""

Votes = NDArray[np.uint8]
Process = Callable[[np.random.Generator], Produced]


@dataclass(frozen=True)
class Measure:
    """Voting processes on average.

    Attributes:
        labels: produced before any budget was exceeded.
        accuracy: part of all those labels that is right; none where no process produced any.
        student: accuracy of students trained on a process's labels; none where none were trained.
        whole_pool: processes whose public records ran out before a budget did: their labels are too few.
    """

    labels: float
    accuracy: float | None
    student: float | None
    whole_pool: int


@dataclass(frozen=True)
class Row:
    """One measured configuration.

    Attributes:
        table: title of the table it belongs to.
        variant: "minimum", "mean", "average" (as the paper takes it) or "maximum": one budget for all; "u",
            "v", "v4", "w" (weights by epsilons), "wr" (by square roots), or "skewed" (upsampling of the
            rarer class) and "skewed average".
        factor: the higher budget in units of the lower one; 1 for the minimum.
        ratio: percentage of records, or of the rarer class's, that have it; 0 for minimum and maximum.
        notion: how costs were counted.
        measure: what came out.
    """

    table: str
    variant: str
    factor: int
    ratio: int
    notion: str
    measure: Measure


@dataclass(frozen=True)
class Bench:
    """What all configurations of a dataset share.

    Attributes:
        table: title of its table.
        dataset: its name.
        split: its records.
        plain: the votes of 250 teachers that share no record.
        processes: how many voting processes are averaged.
        notions: how costs are counted.
    """

    table: str
    dataset: str
    split: Split
    plain: Votes
    processes: int
    notions: Sequence[Notion] = NOTIONS

    def plain_rows(self) -> Iterator[Row]:
        """Measures whatever needs no copies: baselines, vanishing and weighting."""
        pool = everyone(self.plain, self.dataset)
        yield from self._baseline(pool, "minimum", 1, 0, LOWER)
        for factor in FACTORS:
            yield from self._baseline(pool, "maximum", factor, 0, factor * LOWER)
            for ratio in RATIOS:
                share = ratio / 100
                yield from self._baseline(pool, "mean", factor, ratio, (1 + (factor - 1) * share) * LOWER)
                yield from self._baseline(pool, "average", factor, ratio, average(factor, share))
                yield from self._vanishing(factor, ratio)
                yield from self._weighting(factor, ratio)

    def upsampled_rows(self, cell: Cell, votes: Votes) -> Iterator[Row]:
        """Measures upsampling, and for the skewed kind the mean budget beside it."""
        skewed = cell.kind == "skewed"
        pool = everyone(votes, self.dataset)
        sides = [Side(Influence(copies), copies * LOWER) for copies in (1, cell.factor)]
        for notion in self.notions:
            measure = self._measure(lambda random: pool.run(sides, notion, random))  # noqa: B023
            variant = "skewed" if skewed else "u"
            yield Row(self.table, variant, cell.factor, cell.ratio, notion.name, measure)
        if skewed:
            share = (cell.mean_copies(self.split.private.y) - 1) / (cell.factor - 1)
            plain, epsilon = everyone(self.plain, self.dataset), average(cell.factor, share)
            yield from self._baseline(plain, "skewed average", cell.factor, cell.ratio, epsilon)

    def _baseline(self, pool: Pool, variant: str, factor: int, ratio: int, epsilon: float) -> Iterator[Row]:
        sides = [Side(ONE_VOTE, epsilon)]
        for notion in self.notions:
            measure = self._measure(lambda random: pool.run(sides, notion, random))  # noqa: B023
            yield Row(self.table, variant, factor, ratio, notion.name, measure)

    def _vanishing(self, factor: int, ratio: int) -> Iterator[Row]:
        higher = higher_teachers(len(self.plain), ratio)
        budgets = (LOWER, factor * LOWER)
        prices = Prices(PARAMETERS[self.dataset])
        for variant, power in POWERS.items():
            for notion in self.notions:

                def process(
                    random: np.random.Generator, period: int = factor**power, notion: Notion = notion
                ) -> Produced:
                    return vanishing(self.plain, prices, higher, period, budgets, notion, random)

                yield Row(self.table, variant, factor, ratio, notion.name, self._measure(process))

    def _weighting(self, factor: int, ratio: int) -> Iterator[Row]:
        higher = higher_teachers(len(self.plain), ratio)
        for variant, shares in {"w": (1.0, float(factor)), "wr": square_roots(factor)}.items():
            weight = weights(higher, shares)
            pool = Pool(self.plain, self.dataset, weight)
            low, high = (Influence(weight=float(weight[group][0])) for group in (~higher, higher))
            sides = [Side(low, LOWER), Side(high, factor * LOWER)]
            for notion in self.notions:
                measure = self._measure(lambda random: pool.run(sides, notion, random))  # noqa: B023
                yield Row(self.table, variant, factor, ratio, notion.name, measure)

    def _measure(self, process: Process) -> Measure:
        """Run the processes, each with a seed of its own, and average them; students learn Adult alone."""
        generators = [np.random.default_rng(seed) for seed in range(self.processes)]
        produced = [process(random) for random in generators]
        right = np.concatenate([self.split.public.y[one.rows] == one.labels for one in produced])
        trained = [
            student.accuracy(one, self.split, random)
            for one, random in zip(produced, generators, strict=True)
            if self.dataset.removesuffix(SMALL) == "adult"
        ]
        return Measure(
            labels=len(right) / self.processes,
            accuracy=float(right.mean()) if len(right) else None,
            student=float(np.mean(trained)) if trained else None,
            whole_pool=sum(one.whole_pool for one in produced),
        )


def average(factor: int, share: float) -> float:
    """Return the log of the mean of e^epsilon: the average budget by which the paper's figures were made."""
    return math.log((1 - share) * math.exp(LOWER) + share * math.exp(factor * LOWER))


def square_roots(factor: int) -> tuple[float, float]:
    """Return the proportions of weights under which the lower and the higher budget end together."""
    found = proportions({"lower": LOWER, "higher": factor * LOWER}, DELTA)
    return found["lower"], found["higher"]


def everyone(votes: Votes, dataset: str) -> Pool:
    """Return the pool in which every teacher's vote counts as one."""
    return Pool(votes, dataset, np.ones(len(votes)))
