"""Every configuration of the tables, with several voting processes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from benchmarks.personalized import student
from benchmarks.personalized.budgets import NOTIONS, Notion
from benchmarks.personalized.cells import Cell
from benchmarks.personalized.configurations import (
    Configuration,
    Votes,
    average_of_skewed,
    upsampling,
    without_copies,
)
from benchmarks.personalized.data import SMALL, Split


@dataclass(frozen=True)
class Measure:
    """Results of voting processes.

    Attributes:
        counts: number of labels of each process, produced before any budget was exceeded.
        accuracy: fraction of right labels; None if there are none.
        students: accuracy of a student of each process's labels; empty if none were trained.
        whole_pool: number of processes whose public records ran out before a budget did: they have too few
            labels.
    """

    counts: tuple[int, ...]
    accuracy: float | None
    students: tuple[float, ...]
    whole_pool: int

    @property
    def labels(self) -> float:
        """The mean number of labels per process."""
        return fmean(self.counts)

    @property
    def student(self) -> float | None:
        """The mean accuracy of students; None if none were trained."""
        return fmean(self.students) if self.students else None


@dataclass(frozen=True)
class Row:
    """One measured configuration.

    Attributes:
        table: title of the table it belongs to.
        variant: as in `Configuration`.
        factor: the higher budget in units of the lower one; 1 for the minimum.
        ratio: percentage of records, or of the rarer class's, that have it; 0 for minimum and maximum.
        notion: how costs were counted.
        measure: the results.
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
        processes: number of voting processes of each.
        notions: the ways to count costs.
    """

    table: str
    dataset: str
    split: Split
    plain: Votes
    processes: int
    notions: Sequence[Notion] = NOTIONS

    def plain_rows(self) -> Iterator[Row]:
        """Measure everything that needs no copies: baselines, vanishing and weighting."""
        yield from self._rows(without_copies(self.plain, self.dataset))

    def measure_upsampling(self, cell: Cell, votes: Votes) -> Iterator[Row]:
        """Measure upsampling, and for the skewed kind also the mean budget."""
        yield from self._rows([upsampling(cell, votes)])
        if cell.kind == "skewed":
            yield from self._rows([average_of_skewed(cell, self.plain, self.split.private.y)])

    def _rows(self, configurations: Iterable[Configuration]) -> Iterator[Row]:
        for one in configurations:
            for notion in self.notions:
                yield Row(self.table, *one.key, notion.name, self._measure(one, notion))

    def _measure(self, one: Configuration, notion: Notion) -> Measure:
        """Run the processes, each with its own seed; only Adult has students."""
        generators = [np.random.default_rng(seed) for seed in range(self.processes)]
        produced = [one.process(notion, random) for random in generators]
        right = np.concatenate([self.split.public.y[each.rows] == each.labels for each in produced])
        trained = [
            student.accuracy(each, self.split, random)
            for each, random in zip(produced, generators, strict=True)
            if self.dataset.removesuffix(SMALL) == "adult"
        ]
        return Measure(
            counts=tuple(len(each.rows) for each in produced),
            accuracy=float(right.mean()) if len(right) else None,
            students=tuple(trained),
            whole_pool=sum(each.whole_pool for each in produced),
        )
