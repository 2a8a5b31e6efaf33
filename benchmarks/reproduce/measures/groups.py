"""Figure 4 of Mühl and Boenisch 2022: the ratio between the costs of two groups of records."""

import numpy as np
from numpy.typing import NDArray

from benchmarks.personalized.budgets import ORDERS
from benchmarks.personalized.data import DELTA, PARAMETERS
from benchmarks.personalized.participation import higher_teachers, participation, weights
from benchmarks.personalized.voting import Ballots, Prices, answer, histogram
from benchmarks.published import DATA
from benchmarks.reproduce.cell import Figure, Job, Outcome
from benchmarks.reproduce.measures.costs import classic
from ostraka.common.privacy import ONE_VOTE, Influence
from ostraka.guardian.accounting.numerics.arguments import Floats

VOTINGS = 4000  # of the published votes: more take longer, and a ratio varies less
FACTORS = (2, 4)
"""Ratio of the groups' sensitivities, or of their participation."""


def cost_ratios(job: Job) -> Outcome:
    """Charge votings to both groups; the expected ratio is the one that the paper says it approaches."""
    votings = 400 if job.quick else VOTINGS
    found = {factor: [_ratios(factor, seed, votings) for seed in job.seeds] for factor in FACTORS}
    figures = []
    for factor, by_seed in found.items():
        for name, paper, values in zip(
            ("upsampling", "vanishing", "weighting"),
            (float(factor), factor**0.5, float(factor)),
            np.array(by_seed).T,
            strict=True,
        ):
            said = None if job.quick else paper
            figures.append(
                Figure(
                    f"{name}, sensitivities 1 : {factor}: ratio of epsilons",
                    tuple(values.tolist()),
                    said,
                    close=0.15,
                )
            )
    return Outcome(tuple(figures))


def votes_of_histograms(seed: int) -> NDArray[np.uint8]:
    """Return votes (teachers, queries) with the published histograms of MNIST, assigned at random."""
    counts = np.load(DATA / "votes" / "mnist_250_teachers_counts.npy").astype(np.int64)
    cast = np.stack([np.repeat(np.arange(10, dtype=np.uint8), row) for row in counts], axis=1)
    return np.random.default_rng(seed).permuted(cast, axis=0)


def _ratios(factor: int, seed: int, votings: int) -> list[float]:
    random = np.random.default_rng(seed)
    votes = votes_of_histograms(seed)
    votes = votes[:, random.permutation(votes.shape[1])[:votings]]
    higher = higher_teachers(len(votes), 50)
    whole = _ballots(votes, np.ones(len(votes)))
    weight = weights(higher, (1.0, float(factor)))
    low, high = (Influence(weight=float(weight[group][0])) for group in (~higher, higher))
    return [
        _ratio(whole, Influence(1), Influence(factor), random),
        _vanishing(votes, higher, factor, random),
        _ratio(_ballots(votes, weight), low, high, random),
    ]


def _ballots(votes: NDArray[np.uint8], weight: Floats) -> Ballots:
    counts = histogram(votes, 10, weight)
    return Ballots(counts, np.full(len(counts), weight.sum() / PARAMETERS["mnist"].teachers))


def _ratio(ballots: Ballots, low: Influence, high: Influence, random: np.random.Generator) -> float:
    answered = answer(ballots, PARAMETERS["mnist"], random).answered
    prices = Prices(PARAMETERS["mnist"])
    costs = [prices.charges(ballots, answered, one, "theorem6").sum(axis=0) for one in (low, high)]
    return _epsilon(costs[1]) / _epsilon(costs[0])


def _vanishing(
    votes: NDArray[np.uint8], higher: NDArray[np.bool_], factor: int, random: np.random.Generator
) -> float:
    """Return the ratio if the other group participates in one of `factor` votings."""
    took_part = participation(higher, factor, votes.shape[1], random)
    counts = histogram(votes, 10, took_part.astype(np.float64))
    ballots = Ballots(counts, took_part.sum(axis=1) / PARAMETERS["mnist"].teachers)
    answered = answer(ballots, PARAMETERS["mnist"], random).answered
    charges = Prices(PARAMETERS["mnist"]).charges(ballots, answered, ONE_VOTE, "theorem6")
    costs = [(took_part[:, group].T.astype(np.float64) @ charges).mean(axis=0) for group in (~higher, higher)]
    return _epsilon(costs[1]) / _epsilon(costs[0])


def _epsilon(rdp: Floats) -> float:
    return classic(rdp, ORDERS, DELTA)
