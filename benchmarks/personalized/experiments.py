"""Every configuration of the tables, averaged over voting processes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.personalized import student
from benchmarks.personalized.budgets import NOTIONS, Notion
from benchmarks.personalized.cells import Cell
from benchmarks.personalized.configurations import (
    Configuration,
    Votes,
    skewed_average,
    upsampled,
    without_copies,
)
from benchmarks.personalized.data import SMALL, Split


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
        variant: as `Configuration` has it.
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
        yield from self._rows(without_copies(self.plain, self.dataset))

    def upsampled_rows(self, cell: Cell, votes: Votes) -> Iterator[Row]:
        """Measures upsampling, and for the skewed kind the mean budget beside it."""
        yield from self._rows([upsampled(cell, votes)])
        if cell.kind == "skewed":
            yield from self._rows([skewed_average(cell, self.plain, self.split.private.y)])

    def _rows(self, configurations: Iterable[Configuration]) -> Iterator[Row]:
        for one in configurations:
            for notion in self.notions:
                yield Row(self.table, *one.key, notion.name, self._measure(one, notion))

    def _measure(self, one: Configuration, notion: Notion) -> Measure:
        """Run the processes, each with a seed of its own, and average them; students learn Adult alone."""
        generators = [np.random.default_rng(seed) for seed in range(self.processes)]
        produced = [one.process(notion, random) for random in generators]
        right = np.concatenate([self.split.public.y[each.rows] == each.labels for each in produced])
        trained = [
            student.accuracy(each, self.split, random)
            for each, random in zip(produced, generators, strict=True)
            if self.dataset.removesuffix(SMALL) == "adult"
        ]
        return Measure(
            labels=len(right) / self.processes,
            accuracy=float(right.mean()) if len(right) else None,
            student=float(np.mean(trained)) if trained else None,
            whole_pool=sum(each.whole_pool for each in produced),
        )
