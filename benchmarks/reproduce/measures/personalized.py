"""Tables 2 to 7, 9 and 10 of Mühl and Boenisch 2022, by `benchmarks.personalized`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.personalized import data, paper
from benchmarks.personalized.budgets import PAPER
from benchmarks.personalized.experiments import Bench, Measure, Row
from benchmarks.personalized.quality import Quality, quality
from benchmarks.personalized.teachers import Ensembles
from benchmarks.reproduce.cell import Figure, Job, Outcome
from benchmarks.reproduce.measures import by_budget
from benchmarks.reproduce.measures.groups import votes_of_histograms
from benchmarks.reproduce.measures.personalized_ensembles import ensembles_of


@dataclass(frozen=True)
class Found:
    """Every configuration of a dataset, and its ensembles' quality by kind, factor and ratio."""

    rows: list[Row]
    qualities: dict[tuple[str, int, int], Quality]


@cache
def _find(dataset: str, folder: Path, quick: bool, processes: int) -> Found:
    """Train what is not cached, and measure every configuration once for all tables of a dataset.

    A seed is that of a voting process; the ensemble is the same.
    """
    ensembles = ensembles_of(dataset, quick=quick)
    name = ensembles[0].dataset
    split = data.load(name)
    kept = Ensembles(folder / "personalized")
    found = Found([], {})
    plain: Bench | None = None
    for one in ensembles:
        votes = kept.votes(one, split, lambda done: None)
        found.qualities[one.kind, one.factor, one.ratio] = quality(votes, split.public.y)
        if plain is None:
            plain = Bench(dataset, name, split, votes, processes, (PAPER,))
            found.rows.extend(plain.plain_rows())
        else:
            found.rows.extend(plain.measure_upsampling(one, votes))
    return found


def labels(job: Job, dataset: str, *, baselines: bool) -> Outcome:
    """Tables 3 to 5: labels before a budget is exceeded."""
    rows = _find(dataset, job.folder, job.quick, len(job.seeds)).rows
    return _labels(rows, dataset, baselines=baselines, compared=not job.quick)


def labels_by_published_votes(job: Job) -> Outcome:
    """Tables 3 and 4 without upsampling, with published votes, relative to the smallest budget's labels.

    No teacher is trained. These teachers agree less than the paper's, so absolute numbers are not comparable.
    """
    split = data.load("mnist")
    rows = Bench("mnist", "mnist", split, votes_of_histograms(0), len(job.seeds), (PAPER,)).plain_rows()
    found = _labels(list(rows), "mnist", baselines=True, compared=not job.quick).figures
    (least, *others) = found
    return Outcome((replace(least, paper=None), *(_times(one, least) for one in others)))


def _times(one: Figure, least: Figure) -> Figure:
    """Return a number of labels relative to the smallest budget's, here and in the paper."""
    said = None if one.paper is None or least.paper is None else one.paper / least.paper
    name = one.name.replace("labels", "times the labels of log 2")
    return replace(one, name=name, values=tuple(value / least.mean for value in one.values), paper=said)


def _labels(rows: Sequence[Row], dataset: str, *, baselines: bool, compared: bool) -> Outcome:
    found = {(row.variant, row.factor, row.ratio): _counts(row.measure) for row in rows}
    published = dict(by_budget.labels(dataset, baselines=baselines))
    return Outcome(
        tuple(
            Figure(
                by_budget.name_of(key, "labels"),
                found[key],
                said if compared else None,
                "higher",
                close=0.1,
            )
            for key, said in published.items()
            if key in found
        )
    )


def students(job: Job) -> Outcome:
    """Table 9: students of Adult, by how their labels were paid for."""
    rows = _find("adult", job.folder, job.quick, len(job.seeds)).rows
    found = {
        (row.variant, row.factor, row.ratio): _percent(*row.measure.students)
        for row in rows
        if row.measure.students
    }
    return Outcome(by_budget.student_figures("adult", found, compared=not job.quick))


def budgets_of_rarer_class(job: Job, columns: Sequence[str]) -> Outcome:
    """Tables 6, 7 and 10: higher budgets for the rarer class of Adult only."""
    found = _find("adult", job.folder, job.quick, len(job.seeds))
    figures = []
    for pair, published in paper.SKEWED.items():
        if ("skewed", *pair) not in found.qualities:
            continue
        measured = _values_by_variant(found, pair)
        for column in columns:
            name = f"log {2 ** pair[0]} for {pair[1]}%: {column.replace('_', ' ')}"
            said = None if job.quick else getattr(published, column)
            figures.append(Figure(name, measured[column], said, "higher", close=0.1))
    return Outcome(tuple(figures))


def _values_by_variant(found: Found, pair: tuple[int, int]) -> dict[str, tuple[float, ...]]:
    by = {row.variant: row.measure for row in found.rows if (row.factor, row.ratio) == pair}
    votes = found.qualities["skewed", *pair]
    return {
        "labels": _counts(by["skewed"]),
        "average": _counts(by["skewed average"]),
        "accuracy": _percent(by["skewed"].accuracy or np.nan),
        "precision": _percent(votes.precision),
        "recall": _percent(votes.recall),
        "student": _percent(*by["skewed"].students),
        "average_student": _percent(*by["skewed average"].students),
    }


def _counts(measure: Measure) -> tuple[float, ...]:
    return tuple(float(count) for count in measure.counts)


def _percent(*shares: float) -> tuple[float, ...]:
    return tuple(100 * share for share in shares)


def parameters(job: Job) -> Outcome:
    """Table 2: the benchmark's parameters."""
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
