"""Tables 2 to 7 and 10 of Mühl and Boenisch 2022, by `benchmarks.personalized`."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.personalized import data, paper
from benchmarks.personalized.budgets import PAPER
from benchmarks.personalized.cells import Cell as Ensemble
from benchmarks.personalized.cells import cells
from benchmarks.personalized.experiments import Bench, Row
from benchmarks.personalized.quality import Quality, quality
from benchmarks.personalized.teachers import Ensembles
from benchmarks.reproduce.cell import Figure, Job, Outcome
from benchmarks.reproduce.measures.groups import published_votes

PROCESSES = 5
"""Voting processes of each ensemble, as many as in the paper."""
VARIANTS = {"u": "upsampling", "v": "vanishing", "w": "weighting"}


@cache
def _whole(dataset: str, folder: Path) -> tuple[list[Row], dict[str, Quality]]:
    """Train what is not kept, and measure every configuration once for all tables of a dataset."""
    split, ensembles = data.load(dataset), Ensembles(folder / "personalized")
    rows: list[Row] = []
    qualities: dict[str, Quality] = {}
    plain: Bench | None = None
    for ensemble in (one for one in cells(dataset) if one.epochs is None):
        votes = ensembles.votes(ensemble, split, lambda done: None)
        qualities[ensemble.file_name] = quality(votes, split.public.y)
        if plain is None:
            plain = Bench(dataset, dataset, split, votes, PROCESSES, (PAPER,))
            rows += plain.plain_rows()
        else:
            rows += plain.upsampled_rows(ensemble, votes)
    return rows, qualities


def _small(dataset: str, folder: Path) -> list[Row]:
    """Measure what needs no copies: on published votes of MNIST, for Adult on one ensemble."""
    split = data.load(dataset)
    if dataset == "mnist":
        votes = published_votes(0)
    else:
        votes = Ensembles(folder / "personalized").votes(Ensemble(dataset, "plain"), split, lambda done: None)
    return list(Bench(dataset, dataset, split, votes, 1, (PAPER,)).plain_rows())


def labels(job: Job, dataset: str, *, baselines: bool) -> Outcome:
    """Tables 3 to 5: labels before a budget is exceeded."""
    rows = _small(dataset, job.folder) if job.quick else _whole(dataset, job.folder)[0]
    found = {(row.variant, row.factor, row.ratio): row.measure.labels for row in rows}
    published = dict(_published(dataset, baselines=baselines))
    return Outcome(
        tuple(
            Figure(_named(key), (found[key],), None if job.quick else said, "higher", close=0.1)
            for key, said in published.items()
            if key in found
        )
    )


def _published(dataset: str, *, baselines: bool) -> Iterator[tuple[tuple[str, int, int], float]]:
    yield ("minimum", 1, 0), paper.MINIMUM[dataset]
    for pair, counts in paper.VARIANTS[dataset].items():
        for variant in VARIANTS:
            yield (variant, *pair), getattr(counts, variant)
        if baselines:
            yield ("average", *pair), paper.AVERAGE[dataset][pair]
    if baselines:
        for factor, count in paper.MAXIMUM[dataset].items():
            yield ("maximum", factor, 0), count


def _named(key: tuple[str, int, int]) -> str:
    variant, factor, ratio = key
    higher = f"log {2**factor}" if factor > 1 else "log 2"
    share = f" for {ratio}%" if ratio else ""
    return f"{VARIANTS.get(variant, variant)}, {higher}{share}: labels"


def skewed(job: Job, columns: Sequence[str]) -> Outcome:
    """Tables 6, 7 and 10: higher budgets for the rarer class of Adult alone."""
    if job.quick:
        split = data.load("adult")
        ensemble = Ensemble("adult", "skewed", 2, 25)
        votes = Ensembles(job.folder / "personalized").votes(ensemble, split, lambda done: None)
        found = quality(votes, split.public.y)
        return Outcome((Figure("log 4 for 25%: accuracy of a teacher, %", (100 * found.accuracy,)),))
    rows, qualities = _whole("adult", job.folder)
    figures = []
    for pair, said in paper.SKEWED.items():
        measured = _measured(rows, qualities, pair)
        for column in columns:
            name = f"log {2 ** pair[0]} for {pair[1]}%: {column.replace('_', ' ')}"
            figures.append(Figure(name, (measured[column],), getattr(said, column), "higher", close=0.1))
    return Outcome(tuple(figures))


def _measured(
    rows: Sequence[Row], qualities: Mapping[str, Quality], pair: tuple[int, int]
) -> dict[str, float]:
    by = {row.variant: row.measure for row in rows if (row.factor, row.ratio) == pair}
    votes = qualities[Ensemble("adult", "skewed", *pair).file_name]
    return {
        "labels": by["skewed"].labels,
        "average": by["skewed average"].labels,
        "accuracy": 100 * (by["skewed"].accuracy or np.nan),
        "precision": 100 * votes.precision,
        "recall": 100 * votes.recall,
        "student": 100 * (by["skewed"].student or np.nan),
        "average_student": 100 * (by["skewed average"].student or np.nan),
    }


def parameters(job: Job) -> Outcome:
    """Table 2: the parameters that the benchmark takes."""
    published = {
        "mnist": {"teachers": 250, "threshold": 200, "sigma1": 150, "sigma2": 40},
        "adult": {"teachers": 250, "threshold": 300, "sigma1": 200, "sigma2": 40},
    }
    return Outcome(
        tuple(
            Figure(
                f"{dataset}: {name}",
                (float(getattr(data.PARAMETERS[dataset], name)),),
                float(said),
                close=0.0,
            )
            for dataset, values in published.items()
            for name, said in values.items()
        )
    )
