"""Tables 2 and 3 of Tang et al. 2022, by `benchmarks.label_dp`: MNIST in place of CIFAR10."""

from collections import defaultdict
from dataclasses import replace
from functools import cache

from benchmarks.label_dp import data, paper
from benchmarks.label_dp.__main__ import QUICK
from benchmarks.label_dp.cells import Cell, measured
from benchmarks.label_dp.data import SIZES, Dataset
from benchmarks.label_dp.methods import (
    EPSILONS,
    METHODS,
    NOISE_CLUSTER,
    NON_PRIVATE,
    PATE_FM,
    PATE_FM_LEARNERS,
    Bench,
)
from benchmarks.label_dp.tables import NAMES
from benchmarks.reproduce.cell import Claim, Figure, Job, Outcome

SMALL = replace(QUICK, train=600, teachers=30)
"""So many teachers agree enough for the largest budget to pay for some labels."""
Column = dict[tuple[str, float | None], list[float]]


def labels(job: Job) -> Outcome:
    """Table 2, its row of PATE-FM: what its student says of all training records."""
    found = _found(job, (PATE_FM,), "private")
    return Outcome(
        tuple(
            Figure(f"epsilon {epsilon:g}: right, %", tuple(values), said, "higher")
            for (_, epsilon), values in found.items()
            for said in [dict(zip(EPSILONS, paper.PRIVATE["pate-fm"], strict=True))[epsilon or 0.0]]
        )
    )


def students(job: Job) -> Outcome:
    """Table 3, without the rows whose learners doubt PATE-FM's labels."""
    found = _found(job, (NOISE_CLUSTER, *METHODS, NON_PRIVATE), "accuracy")
    mean = {key: sum(values) / len(values) for key, values in found.items()}
    pairs = [(mean.get(("denoise-ssl", 0.5)), mean.get(("ldp-ssl", 0.5)))]
    return Outcome(
        _figures(found),
        tuple(
            Claim("at epsilon 0.5 DenoiseSSL beats LDP-SSL", denoise > ldp)
            for denoise, ldp in pairs
            if denoise is not None and ldp is not None
        ),
    )


def learners_of_pate_fm(job: Job) -> Outcome:
    """Table 3, its rows whose learners doubt the labels that PATE-FM's student gives all training records."""
    return Outcome(_figures(_found(job, PATE_FM_LEARNERS, "accuracy")))


def _figures(found: Column) -> tuple[Figure, ...]:
    published = {
        (method, epsilon): said
        for method, row in paper.ACCURACY.items()
        for epsilon, said in zip(EPSILONS, row, strict=True)
    }
    return tuple(
        Figure(
            f"{NAMES[method]}, {'no privacy' if epsilon is None else f'epsilon {epsilon:g}'}: right, %",
            tuple(values),
            paper.NON_PRIVATE if epsilon is None else published.get((method, epsilon)),
            "higher",
        )
        for (method, epsilon), values in found.items()
    )


def _found(job: Job, methods: tuple[str, ...], field: str) -> Column:
    """Return percentages by method and epsilon, by seed; what a budget was too small for is left out."""
    dataset, size = (Dataset.DIGITS, SMALL) if job.quick else (Dataset.MNIST, SIZES[Dataset.MNIST])
    folder = job.folder / "label_dp"

    @cache
    def bench(dataset: Dataset, seed: int) -> Bench:
        return Bench(data.load(dataset, size, seed), size, seed, folder / f"{dataset}-{seed}")

    found: Column = defaultdict(list)
    for method in methods:
        for epsilon in (None,) if method == NON_PRIVATE else EPSILONS:
            for seed in job.seeds:
                value = getattr(measured(Cell(dataset, method, epsilon, seed), size, bench, folder), field)
                if value is not None:
                    found[method, epsilon].append(100 * value)
    return found
