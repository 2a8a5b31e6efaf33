"""Every configuration of the tables: the budgets, and how votes are asked for."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.personalized.budgets import Notion
from benchmarks.personalized.cells import FACTORS, RATIOS, Cell
from benchmarks.personalized.data import DELTA, PARAMETERS
from benchmarks.personalized.participation import higher_teachers, weights
from benchmarks.personalized.variants import Pool, Produced, Side, vanishing
from benchmarks.personalized.voting import Prices
from ostraka.common.privacy import ONE_VOTE, Influence, proportions

LOWER = math.log(2)
"""The lower budget; the higher one is `factor` times as large."""
POWERS = {"v": 2, "v4": 4}
"""Frequencies in vanishing: 1/factor^2, and 1/factor^4 as in footnote 3 of Mühl and Boenisch 2022."""

Votes = NDArray[np.uint8]
Key = tuple[str, int, int]
"""Variant, factor and ratio."""


@dataclass(frozen=True)
class Configuration:
    """One way to spend budgets.

    Attributes:
        variant: "minimum", "mean", "average" (the paper's) or "maximum": one budget for all; "u", "v", "v4",
            "w" (weights by epsilons), "wr" (by square roots), or "skewed" (upsampling of the rarer class) and
            "skewed average".
        factor: the higher budget in units of the lower one; 1 for the minimum.
        ratio: percentage of records, or of the rarer class's, that have it; 0 for minimum and maximum.
        process: asks until a budget is exceeded, for a way to count costs and a source of noise.
    """

    variant: str
    factor: int
    ratio: int
    process: Callable[[Notion, np.random.Generator], Produced]

    @property
    def key(self) -> Key:
        """The configuration's key."""
        return self.variant, self.factor, self.ratio


def without_copies(votes: Votes, dataset: str) -> Iterator[Configuration]:
    """Yield what needs no copies: baselines, vanishing, weighting; with votes of teachers that share none."""
    pool = everyone(votes, dataset)
    yield _baseline(pool, "minimum", 1, 0, LOWER)
    for factor in FACTORS:
        yield _baseline(pool, "maximum", factor, 0, factor * LOWER)
        for ratio in RATIOS:
            share = ratio / 100
            yield _baseline(pool, "mean", factor, ratio, (1 + (factor - 1) * share) * LOWER)
            yield _baseline(pool, "average", factor, ratio, average(factor, share))
            yield from _vanishing(votes, dataset, factor, ratio)
            yield from _weighting(votes, dataset, factor, ratio)


def upsampling(cell: Cell, votes: Votes) -> Configuration:
    """Return upsampling with the votes of a cell's teachers."""
    sides = [Side(Influence(copies), copies * LOWER) for copies in (1, cell.factor)]
    variant = "skewed" if cell.kind == "skewed" else "u"
    return Configuration(variant, cell.factor, cell.ratio, partial(everyone(votes, cell.dataset).run, sides))


def average_of_skewed(cell: Cell, plain: Votes, y: NDArray[np.int64]) -> Configuration:
    """Return the mean budget of a skewed cell's records, of classes `y`, for all teachers without copies."""
    share = (cell.mean_copies(y) - 1) / (cell.factor - 1)
    pool = everyone(plain, cell.dataset)
    epsilon = average(cell.factor, share)
    return _baseline(pool, "skewed average", cell.factor, cell.ratio, epsilon)


def _baseline(pool: Pool, variant: str, factor: int, ratio: int, epsilon: float) -> Configuration:
    return Configuration(variant, factor, ratio, partial(pool.run, [Side(ONE_VOTE, epsilon)]))


def _vanishing(votes: Votes, dataset: str, factor: int, ratio: int) -> Iterator[Configuration]:
    higher = higher_teachers(len(votes), ratio)
    prices = Prices(PARAMETERS[dataset])
    budgets = (LOWER, factor * LOWER)
    for variant, power in POWERS.items():
        process = partial(vanishing, votes, prices, higher, factor**power, budgets)
        yield Configuration(variant, factor, ratio, process)


def _weighting(votes: Votes, dataset: str, factor: int, ratio: int) -> Iterator[Configuration]:
    higher = higher_teachers(len(votes), ratio)
    for variant, shares in {"w": (1.0, float(factor)), "wr": square_roots(factor)}.items():
        weight = weights(higher, shares)
        low, high = (Influence(weight=float(weight[group][0])) for group in (~higher, higher))
        sides = [Side(low, LOWER), Side(high, factor * LOWER)]
        yield Configuration(variant, factor, ratio, partial(Pool(votes, dataset, weight).run, sides))


def average(factor: int, share: float) -> float:
    """Return the log of the mean of e^epsilon: the average budget in the paper's figures."""
    return math.log((1 - share) * math.exp(LOWER) + share * math.exp(factor * LOWER))


def square_roots(factor: int) -> tuple[float, float]:
    """Return the weights' proportions that exhaust the lower and the higher budget together."""
    found = proportions({"lower": LOWER, "higher": factor * LOWER}, DELTA)
    return found["lower"], found["higher"]


def everyone(votes: Votes, dataset: str) -> Pool:
    """Return the pool in which every teacher's vote counts as one."""
    return Pool(votes, dataset, np.ones(len(votes)))
