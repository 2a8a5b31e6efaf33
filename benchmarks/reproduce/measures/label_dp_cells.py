"""Measurements of `benchmarks.label_dp` on substitutes for the paper's data, by method and epsilon."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from benchmarks.label_dp import data, paper
from benchmarks.label_dp.__main__ import QUICK
from benchmarks.label_dp.cells import Cell, load_or_measure
from benchmarks.label_dp.data import SIZES, Dataset, Size
from benchmarks.label_dp.methods import Bench
from benchmarks.label_dp.paper import Published
from benchmarks.label_dp.settings import NON_PRIVATE
from benchmarks.reproduce.cell import Job

SMALL = replace(QUICK, train=600, teachers=30)
"""Enough teachers agree for the largest budget to pay for some labels."""
Column = dict[tuple[str, float | None], list[float]]


@dataclass(frozen=True)
class StandIn:
    """Available data in place of the paper's.

    Attributes:
        dataset: the data set.
        size: how much of it is used.
        paper: the paper's numbers for its own data.
    """

    dataset: Dataset
    size: Size
    paper: Published

    def of(self, job: Job, network: str | None = None) -> "StandIn":
        """Return a small version for a quick job; `network` replaces the students' network."""
        dataset = self.dataset
        size = self.size
        if job.quick:
            dataset = Dataset.DIGITS if dataset is Dataset.MNIST else dataset
            size = replace(SMALL, clusters=size.clusters, network=size.network)
        return replace(self, dataset=dataset, size=replace(size, network=network or size.network))


STAND_INS = {
    "mnist": StandIn(Dataset.MNIST, SIZES[Dataset.MNIST], paper.CIFAR10),
    "digits": StandIn(Dataset.DIGITS, replace(SIZES[Dataset.DIGITS], network="mlp"), paper.CIFAR10),
    "pairs": StandIn(
        Dataset.PAIRS,
        Size(10_000, 2000, clusters=100, embedding=0, teachers=100, steps=400, seeds=1, network="mlp"),
        paper.CIFAR100,
    ),
    "optdigits": StandIn(
        Dataset.OPTDIGITS,
        Size(3800, 1797, clusters=10, embedding=0, teachers=150, steps=400, seeds=1, network="mlp"),
        paper.CINIC10,
    ),
}


def accuracies(
    job: Job, chosen: StandIn, methods: Sequence[str], epsilons: Sequence[float], field: str = "accuracy"
) -> Column:
    """Return percentages by method and epsilon, by seed; without those that no budget was enough for."""
    folder = job.folder / "label_dp"

    @cache
    def bench(dataset: Dataset, seed: int) -> Bench:
        split = data.load(dataset, chosen.size, seed)
        return Bench(split, chosen.size, seed, folder / f"{dataset}-{seed}")

    found: Column = defaultdict(list)
    for method in methods:
        for epsilon in (None,) if method == NON_PRIVATE else epsilons:
            for seed in job.seeds:
                cell = Cell(chosen.dataset, method, epsilon, seed)
                value = getattr(load_or_measure(cell, chosen.size, bench, folder), field)
                if value is not None:
                    found[method, epsilon].append(100 * value)
    return found


def mean(found: Column, method: str, epsilon: float | None) -> float | None:
    """Return the mean over seeds; None if no budget was enough."""
    values = found.get((method, epsilon))
    return sum(values) / len(values) if values else None
