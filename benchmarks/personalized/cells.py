"""The ensembles that the tables need, and how often each copies a record."""

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
"""Passes after which MNIST's teachers are as accurate as the paper's seem to be, but not at their best."""
RARE = 1
"""The rarer class of Adult: incomes above $50k."""
STEP = 25
"""Step of ratios, in percent of the records: further copies of this many records make separate teachers."""


@dataclass(frozen=True)
class Cell:
    """One ensemble.

    Attributes:
        dataset: name of the data set.
        kind: "plain" copies no record; "random" copies records of any class, "skewed" only of the rarer
            class; "copy" is one more copy of some records, shared by several random ensembles.
        factor: copies of a record with the higher budget; other records have one. For a copy: its index.
        ratio: percentage of records, or of the rarer class's, with the higher budget. For a copy: the
            percentage at which its `STEP` of the records end.
        epochs: passes of a network over its records; None: the project's default.
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
        """The seed for choosing each teacher's records."""
        if self.kind == "plain":
            return f"{self.dataset}-plain"
        return f"{self.dataset}-{self.kind}-{self.factor}x-{self.ratio}"

    @property
    def parts(self) -> Sequence["Cell"]:
        """The ensembles that are trained for this one: itself, or the plain one and its further copies.

        In a random cell, records with the higher budget are like all others, so teachers of a further copy
        alone are like all others too, and all cells with that copy share these teachers.
        """
        if self.kind != "random":
            return (self,)
        further = product(range(STEP, self.ratio + 1, STEP), range(2, self.factor + 1))
        copies = (replace(self, kind="copy", factor=factor, ratio=ratio) for ratio, factor in further)
        return (replace(self, kind="plain", factor=1, ratio=0), *copies)

    def copies(self, y: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
        """Return how many teachers learn each record, int64 (N,), of classes `y` (N,); not for random
        cells."""
        copies = np.ones(len(y), dtype=np.int64)
        entitled = np.flatnonzero(y == RARE)
        higher = random.permutation(entitled)[: round(len(entitled) * self.ratio / 100)]
        copies[higher] = self.factor
        return copies

    def mean_copies(self, y: NDArray[np.int64]) -> float:
        """Return the mean budget in units of the lower one: s = N'/N (Mühl and Boenisch 2022, Appendix B)."""
        return float(self.copies(y, np.random.default_rng(0)).mean())


def cells(dataset: str) -> list[Cell]:
    """Return the ensembles of a dataset's tables, in the order of training."""
    plain = [Cell(dataset, "plain")]
    random = [Cell(dataset, "random", factor, ratio) for factor in FACTORS for ratio in RATIOS]
    if dataset == "mnist":
        return [*plain, Cell(dataset, "plain", epochs=SHORT_EPOCHS), *random]
    skewed = [Cell(dataset, "skewed", factor, ratio) for factor in FACTORS for ratio in SKEWED_RATIOS]
    return plain + random + skewed


def deal(
    copies: NDArray[np.int64], teachers: int, random: np.random.Generator
) -> Sequence[NDArray[np.int64]]:
    """Return each teacher's records, as indices: sizes differ by at most one, without repeated records.

    Records are dealt in rounds, a record's copies one after the other, each round to the teachers in a new
    order; an order that would give a teacher a second copy of a record is drawn again.
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
    """Whether a record whose copies span two rounds would go to a teacher twice."""
    before = max(0, start - len(order))
    earlier = holders[before:start][dealt[before:start] == dealt[start]]
    here = order[dealt[start : start + len(order)] == dealt[start]]
    return bool(np.isin(here, earlier).any())
