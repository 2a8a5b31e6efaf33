"""Table 1 of Dziedzic et al. 2023: querying parties ask in turn, and retrain on the others' answers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.capc_multilabel.data import DELTA, EPSILONS, QUERYING, Records, Split
from benchmarks.capc_multilabel.models import Said, Scores, balanced_accuracy, fit, scores
from benchmarks.capc_multilabel.noise import RepeatableNoise
from benchmarks.capc_multilabel.sessions import Mechanism, Session, session
from benchmarks.dpsgd.measures import YES, Measure, by_label, mean_of
from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.privacy import epsilon as epsilon_of


@dataclass(frozen=True)
class Quality:
    """A model's measure on the test records, and each label's balanced accuracy, None if it is undefined."""

    measure: Measure
    labels: list[float | None]


@dataclass(frozen=True)
class Turn:
    """One querying party before and after its session.

    Attributes:
        party: index of the party.
        budget: epsilon of each answering party's units.
        queries: number of queries answered within it.
        right: balanced accuracy of the released labels.
        spent: epsilon of these votes.
        worst_case: epsilon of as many answers for any votes.
        before: measure of the party's own model, on test records.
        after: measure of the retrained model.
        by_chance: balanced accuracy of a model retrained on the same queries with random labels.
        labels_before: balanced accuracy of each label, None if it is undefined.
        labels_after: likewise.
    """

    party: int
    budget: float
    queries: int
    right: float | None
    spent: float
    worst_case: float
    before: Measure
    after: Measure
    by_chance: float
    labels_before: list[float | None]
    labels_after: list[float | None]


@dataclass(frozen=True)
class Together:
    """Cost to a record of a party that answers all sessions of one budget: epsilons as in `Turn`."""

    budget: float
    spent: float
    worst_case: float


@dataclass(frozen=True)
class Federation:
    """One seed's federation: a model of all training records without privacy, and every turn."""

    initial: Measure
    turns: list[Turn]
    together: list[Together]


@dataclass(frozen=True)
class Asked:
    """The queries of a querying party, in order, and the predictions of all parties' models."""

    party: int
    queries: Records
    said: Scores


def federation(split: Split, said: Said, mechanism: Mechanism, seed: int) -> Federation:
    """Let the weakest parties ask in turn with every budget, and retrain them."""
    own = [_quality(split.test.y, found) for found in said.tested]
    asked = [choose_queries(split, said, place) for place in range(QUERYING)]
    turns = []
    together = []
    for budget in EPSILONS:
        held = []
        for place, one in enumerate(asked):
            noise = RepeatableNoise(np.random.default_rng((seed, place)))
            others = np.delete(one.said, one.party, axis=0)
            found = session(others, mechanism, budget, noise)
            held.append(found)
            turns.append(_turn(split, one, budget, found, own[place], seed))
        together.append(_together(budget, held))
    return Federation(_quality(split.test.y, said.initial).measure, turns, together)


def choose_queries(split: Split, said: Said, place: int) -> Asked:
    """Return a querying party's pool, sorted by its own model's uncertainty, which costs no privacy."""
    party = int(said.querying[place])
    pool = split.pools[place]
    of_pool = said.asked[:, place * len(pool.y) : (place + 1) * len(pool.y)]
    sure = np.abs(of_pool[party] - np.float32(YES)).mean(axis=1)
    order = np.argsort(sure, kind="stable")
    return Asked(party, pool.rows(order), of_pool[:, order])


def _turn(split: Split, asked: Asked, budget: float, found: Session, own: Quality, seed: int) -> Turn:
    queries = asked.queries.rows(np.arange(len(found.answers)))
    coins = np.random.default_rng(seed).integers(2, size=queries.y.shape)
    coins[found.answers == UNKNOWN] = UNKNOWN
    released, by_chance = _retrain(split, asked.party, queries.X, (found.answers, coins), seed)
    after = _quality(split.test.y, released)
    right = balanced_accuracy(queries.y, found.answers) if len(queries.y) else np.nan
    return Turn(
        party=asked.party,
        budget=budget,
        queries=len(queries.y),
        right=None if np.isnan(right) else right,
        spent=epsilon_of(found.spent, found.order, DELTA),
        worst_case=epsilon_of(found.worst_case, found.order, DELTA),
        before=own.measure,
        after=after.measure,
        by_chance=balanced_accuracy(split.test.y, by_chance),
        labels_before=own.labels,
        labels_after=after.labels,
    )


def _retrain(
    split: Split, party: int, X: NDArray[np.float32], labels: Sequence[NDArray[np.int64]], seed: int
) -> Scores:
    """Return scores of the test records by the party's model, retrained on each of these labels of
    queries."""
    parts = [split.of(party).append(Records(X, each)) for each in labels]
    return scores(fit(parts, seed), split.test.X, split.labels)


def _together(budget: float, held: list[Session]) -> Together:
    """Add up the costs of sessions, like a filter at one order."""
    order = held[0].order
    spent, worst_case = (
        epsilon_of(total, order, DELTA)
        for total in (sum(one.spent for one in held), sum(one.worst_case for one in held))
    )
    return Together(budget, spent, worst_case)


def _quality(y: NDArray[np.int64], found: Scores) -> Quality:
    every = by_label(y, found.astype(np.float64))
    labels = [None if one is None else one.bac for one in every]
    return Quality(mean_of(y, found, every), labels)
