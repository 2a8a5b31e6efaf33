"""Figures 2 and 3 of Mühl and Boenisch 2022: cumulative cost of labels to each group of records."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.personalized import data
from benchmarks.personalized.budgets import ORDERS
from benchmarks.personalized.cells import Cell as Ensemble
from benchmarks.personalized.data import DELTA, PARAMETERS
from benchmarks.personalized.participation import higher_teachers, participation, weights
from benchmarks.personalized.teachers import Ensembles
from benchmarks.personalized.voting import Ballots, Prices, answer, histogram
from benchmarks.reproduce.cell import Claim, Figure, Job, Outcome
from benchmarks.reproduce.measures.costs import classic
from benchmarks.reproduce.measures.groups import votes_of_histograms
from ostraka.common.privacy import ONE_VOTE, Influence
from ostraka.guardian.accounting.numerics.arguments import Floats

LABELS = (100, 250, 500, 1000, 1500, 2000)
"""Numbers of labels at which costs are read."""
FACTORS = (2, 3, 4)
RATIO = 50
"""Percentage of records that have the higher budget."""
PLAIN = "all alike"
WEIGHTING = "weighting"
VANISHING = "vanishing"
LOWER = "lower"
HIGHER = "higher"
Votes = NDArray[np.uint8]
History = dict[int, float]
"""Epsilon by number of labels."""


def histories(job: Job, dataset: str) -> Outcome:
    """Follow the costs of both groups; half of the records have the higher budget."""
    votes, name = _votes(job, dataset)
    most = votes.shape[1] // 4 if job.quick else max(LABELS)
    found: dict[str, History] = {PLAIN: _weigh(votes, name, 1, most)[HIGHER]}
    for factor in FACTORS:
        for variant, by_group in (
            (WEIGHTING, _weigh(votes, name, factor, most)),
            (VANISHING, _vanishing(votes, name, factor, most)),
        ):
            found |= {f"{variant}, log {2**factor}, {group}": one for group, one in by_group.items()}
    figures = [
        Figure(f"{series}: epsilon of {labels:,} labels", (cost,))
        for series, history in found.items()
        for labels, cost in history.items()
    ]
    return Outcome(tuple(figures), tuple(_claims(found)))


def _claims(found: dict[str, History]) -> Iterator[Claim]:
    apart = [_last(found, WEIGHTING, f, HIGHER) / _last(found, WEIGHTING, f, LOWER) for f in FACTORS]
    yield Claim("costs differ more the more budgets differ", apart == sorted(apart) and apart[0] > 1)
    yield Claim(
        "as many labels cost more by vanishing than by weighting",
        all(
            _last(found, VANISHING, f, group) > _last(found, WEIGHTING, f, group)
            for f in FACTORS
            for group in (LOWER, HIGHER)
        ),
    )


def _last(found: dict[str, History], variant: str, factor: int, group: str) -> float:
    return list(found[f"{variant}, log {2**factor}, {group}"].values())[-1]


def _votes(job: Job, dataset: str) -> tuple[Votes, str]:
    """Return votes (teachers, pool); MNIST's are the published ones."""
    if dataset == "mnist":
        votes = votes_of_histograms(job.seeds[0])
        return votes[:, : votes.shape[1] // (10 if job.quick else 1)], dataset
    name = f"{dataset}{data.SMALL}" if job.quick else dataset
    kept = Ensembles(job.folder / "personalized")
    return kept.votes(Ensemble(name, "plain"), data.load(name), lambda done: None), name


def _weigh(votes: Votes, name: str, factor: int, most: int) -> dict[str, History]:
    random = _random(factor)
    weight = weights(higher_teachers(len(votes), RATIO), (1.0, float(factor)))
    order = random.permutation(votes.shape[1])
    ballots = _ballots(votes[:, order], weight, weight.sum(), name)
    answered = answer(ballots, PARAMETERS[name], random).answered
    prices = Prices(PARAMETERS[name])
    by_group = zip((LOWER, HIGHER), (weight.min(), weight.max()), strict=True)
    return {
        group: history_of(
            prices.charges(ballots, answered, Influence(weight=float(one)), "theorem6"), answered, most
        )
        for group, one in by_group
    }


def _vanishing(votes: Votes, name: str, factor: int, most: int) -> dict[str, History]:
    """Charge each group for the average number of queries that its teachers participate in."""
    random = _random(factor)
    higher = higher_teachers(len(votes), RATIO)
    order = random.permutation(votes.shape[1])
    took_part = participation(higher, factor**2, len(order), random)
    ballots = _ballots(votes[:, order], took_part.astype(np.float64), took_part.sum(axis=1), name)
    answered = answer(ballots, PARAMETERS[name], random).answered
    charges = Prices(PARAMETERS[name]).charges(ballots, answered, ONE_VOTE, "theorem6")
    return {
        group: history_of(charges * took_part[:, rows].mean(axis=1)[:, None], answered, most)
        for group, rows in ((LOWER, ~higher), (HIGHER, higher))
    }


def _ballots(votes: Votes, weight: Floats, total: Floats | float, name: str) -> Ballots:
    counts = histogram(votes, PARAMETERS[name].classes, weight)
    return Ballots(counts, np.broadcast_to(total / PARAMETERS[name].teachers, len(counts)))


def history_of(charges: Floats, answered: NDArray[np.bool_], most: int) -> History:
    """Return the cost of the first LABELS, if the pool gave that many, at most `most`."""
    given = answered.cumsum()
    spent = charges.cumsum(axis=0)
    reached = [labels for labels in LABELS if labels <= min(most, int(given[-1]))]
    return {labels: classic(spent[int(np.searchsorted(given, labels))], ORDERS, DELTA) for labels in reached}


def _random(factor: int) -> np.random.Generator:
    return np.random.default_rng(factor)
