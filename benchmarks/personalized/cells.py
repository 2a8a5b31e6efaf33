"""Which ensembles the tables need, and how often a record is copied in each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

FACTORS = (2, 3, 4)
"""Higher budgets log 4, log 8 and log 16, in units of the lower one, log 2."""
RATIOS = (25, 50, 75)
SKEWED_RATIOS = (*RATIOS, 100)
SHORT_EPOCHS = 10
"""Passes after which MNIST's teachers are as accurate as the paper's seem to be, not as they can be."""
RARE = 1
"""The rarer class of Adult: incomes above $50k."""
STEP = 25
"""Percent of the records that ratios differ by: a further copy of so many makes teachers of its own."""


@dataclass(frozen=True)
class Cell:
    """One ensemble.

    Attributes:
        dataset: whose records.
        kind: "plain" copies no record; "random" copies records of any class, "skewed" of the rarer one alone;
            "copy" is one more copy of some records, which several random ones have.
        factor: copies of a record with the higher budget; of others there is one. Of a copy: which one it is.
        ratio: percentage of records, or of the rarer class's, with the higher budget. Of a copy: the percent
            up to which its `STEP` of the records go.
        epochs: passes of a network over its records; none: as many as the project's models take.
    """

    dataset: str
    kind: Literal["plain", "copy", "random", "skewed"]
    factor: int = 1
    ratio: int = 0
    epochs: int | None = None

    @property
    def file_name(self) -> str:
        """The cell's name in the cache."""
        return self.name if self.epochs is None else f"{self.name}-{self.epochs}-epochs"

    @property
    def name(self) -> str:
        """What seeds the choice of each teacher's records."""
        if self.kind == "plain":
            return f"{self.dataset}-plain"
        return f"{self.dataset}-{self.kind}-{self.factor}x-{self.ratio}"

    @property
    def parts(self) -> Sequence["Cell"]:
        """The ensembles that are trained for this one: itself, or those without and of the further copies.

        Records of any class that have the higher budget are like all others, so that teachers of a further
        copy alone are like all others too, and whichever cell has that copy has these teachers.
        """
        if self.kind != "random":
            return (self,)
        further = product(range(STEP, self.ratio + 1, STEP), range(2, self.factor + 1))
        copies = (replace(self, kind="copy", factor=factor, ratio=ratio) for ratio, factor in further)
        return (replace(self, kind="plain", factor=1, ratio=0), *copies)

    def copies(self, y: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
        """Return how many teachers learn each record, int64 (N,), of classes `y` (N,); of no random cell."""
        copies = np.ones(len(y), dtype=np.int64)
        entitled = np.flatnonzero(y == RARE)
        higher = random.permutation(entitled)[: round(len(entitled) * self.ratio / 100)]
        copies[higher] = self.factor
        return copies

    def mean_copies(self, y: NDArray[np.int64]) -> float:
        """Return the mean budget in units of the lower one: s = N'/N (Mühl and Boenisch 2022, Appendix B)."""
        return float(self.copies(y, np.random.default_rng(0)).mean())


def cells(dataset: str) -> list[Cell]:
    """Return the ensembles of a dataset's tables, in the order in which they are trained."""
    plain = [Cell(dataset, "plain")]
    random = [Cell(dataset, "random", factor, ratio) for factor in FACTORS for ratio in RATIOS]
    if dataset == "mnist":
        return [*plain, Cell(dataset, "plain", epochs=SHORT_EPOCHS), *random]
    skewed = [Cell(dataset, "skewed", factor, ratio) for factor in FACTORS for ratio in SKEWED_RATIOS]
    return plain + random + skewed


def deal(
    copies: NDArray[np.int64], teachers: int, random: np.random.Generator
) -> Sequence[NDArray[np.int64]]:
    """Return each teacher's records, as indices: equal numbers to within one, and no record twice.

    Records are dealt out in rounds, a record's copies one after the other, each round to the teachers in a
    new order; one that would give a teacher a second copy of a record is drawn again.
    """
    shuffled = random.permutation(len(copies))
    dealt = np.repeat(shuffled, copies[shuffled])
    holders = np.empty(len(dealt), dtype=np.int64)
    for start in range(0, len(dealt), teachers):
        turn = slice(start, min(start + teachers, len(dealt)))
        order = random.permutation(teachers)[: turn.stop - start]
        while _repeats(dealt, holders, start, order):
            order = random.permutation(teachers)[: turn.stop - start]
        holders[turn] = order
    return [dealt[holders == teacher] for teacher in range(teachers)]


def _repeats(
    dealt: NDArray[np.int64], holders: NDArray[np.int64], start: int, order: NDArray[np.int64]
) -> bool:
    """Whether a record split between two rounds would meet a teacher again."""
    before = max(0, start - len(order))
    earlier = holders[before:start][dealt[before:start] == dealt[start]]
    here = order[dealt[start : start + len(order)] == dealt[start]]
    return bool(np.isin(here, earlier).any())
