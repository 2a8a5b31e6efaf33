"""`ostraka guardian plan --search`: the most that a new budget buys, and the commands for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import BOUND, Mechanism, known_mechanism
from ostraka.common.planning.options import mechanism_words
from ostraka.common.planning.plot import check_picture, draw_frontier
from ostraka.common.planning.search.allowance import Allowance, NewBudget, Rate
from ostraka.common.planning.search.families import Family, families
from ostraka.common.planning.search.forecast import Forecast, Forecaster
from ostraka.common.planning.search.result import figures, lines, tell_advice
from ostraka.common.planning.search.search import (
    Outcome,
    Place,
    Point,
    Rates,
    Search,
    best_of_each,
    frontier,
    no_label,
    worst_rates,
)
from ostraka.common.planning.search.search_options import SearchOptions
from ostraka.common.privacy import AMOUNT_UNIT
from ostraka.common.privacy.filters import filter_option
from ostraka.guardian.mechanisms import charge
from ostraka.guardian.mechanisms.votes import tally_votes
from ostraka.guardian.noise import LATTICE
from ostraka.guardian.planning.plan import influence

QUERIES = 1000
"""Default number of queries of a search."""


@dataclass(frozen=True)
class Wanted:
    """The terms of a search: every party's budget, the voters, and the number of queries.

    Attributes:
        budget: the budget to set.
        classes: classes, or labels.
        teachers: of all parties, if known.
        queries: number of queries; None: as many as there are votes, else QUERIES.
        kind: the one mechanism to search, else all.
        bound: the bound in force.
        adjacency: unit of privacy.
    """

    budget: NewBudget
    classes: int
    teachers: int | None
    queries: int | None
    kind: str | None
    bound: BOUND
    adjacency: str


def search(
    wanted: Wanted,
    options: SearchOptions,
    votes: Path | None,
    plot: Path | None,
    on_step: Callable[[int, int], None],
) -> dict[str, Any]:
    """Return what was found, in JSON's types, and draw the frontier.

    Raises `config.invalid` for options that do not fit together, `data.*` for the votes, `plan.invalid` for a
    mechanism that is not searched, and `budget.too_small` if no setting gives a label.
    """
    if plot is not None:
        check_picture(plot)
    if wanted.bound != "worst_case" and votes is None:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"Bound {wanted.bound} depends on votes: give them with --votes."
        )
    known = None if wanted.kind is None else known_mechanism(wanted.kind)
    several = None if known is None else known.multi_label
    sample, held = options.sample(votes, wanted.classes, wanted.teachers, several=several)
    forecaster = Forecaster(sample)
    queries = wanted.queries or held or QUERIES
    found = replace(
        _search_by(wanted.bound, forecaster, queries, options.least(forecaster)), floor=options.floor(sample)
    )
    tried = families(sample, wanted.kind)
    points = _points(wanted, found, tried, on_step)
    if not points[-1].outcomes:
        raise no_label(found, tried, wanted.budget, "raise --epsilon to that, or have more teachers")
    if plot is not None:
        title = f"{found.queries:,} queries, delta {wanted.budget.delta:g}, bound {wanted.bound}"
        draw_frontier(plot, lines(points), title)
    return figures(
        found,
        points,
        _commands(wanted, points[-1].outcomes[0], found.queries),
        bound=wanted.bound,
        votes="assumed" if votes is None else f"of {votes}",
        advice=tell_advice(points[-1].outcomes[0], found.floor, ADVISE),
    )


def _search_by(bound: BOUND, forecaster: Forecaster, queries: int, least: float) -> Search:
    if bound == "worst_case":
        return Search(forecaster, queries, least, worst_rates(forecaster.sample.classes))
    return Search(forecaster, queries, least, data_dependent_rates(forecaster, bound, CHARGED[bound]))


def _points(
    wanted: Wanted, found: Search, tried: Sequence[Family], on_step: Callable[[int, int], None]
) -> list[Point]:
    """Return the frontier. A bound that is slow to compute starts from the best settings of fast theorem6."""
    begin: dict[int, Place] = {}
    if wanted.bound == "exact":
        quick = replace(
            _search_by("theorem6", found.forecaster, found.queries, found.least_accuracy), floor=found.floor
        )
        places = best_of_each(quick, tried, wanted.budget.choices(1.0), {})
        begin = {i: place for i, (place, _) in enumerate(places)}
    points = frontier(found, tried, wanted.budget, on_step, begin)
    if wanted.bound == "worst_case":
        return points
    exactly = replace(found, rates=data_dependent_rates(found.forecaster, wanted.bound, REPORTED))
    return [
        replace(point, outcomes=[exactly.outcome(one.mechanism, one.choice) for one in point.outcomes])
        for point in points
    ]


def _commands(wanted: Wanted, best: Outcome, queries: int) -> list[list[str]]:
    budget = ["--epsilon", f"{wanted.budget.whole:g}", "--delta", f"{wanted.budget.delta:g}"]
    possible = best.mechanism.adjacencies
    adjacency = wanted.adjacency if wanted.adjacency in possible else possible[0]
    spent = [*budget, *filter_option(best.order).split(), "--adjacency", adjacency]
    asked = ["--queries", str(queries), *mechanism_words(best.mechanism)]
    if adjacency != "record":
        asked += ["--adjacency", adjacency]
    return [
        ["ostraka", "guardian", "budget", "set", "--site", "GUARDIAN", "--party", "PARTY", *spent],
        ["ostraka", "query", "label", "--site", "SITE", "--pool", "POOL", "--out", "RUN", *asked],
    ]


ADVISE = ("ostraka", "advise", "RECORDS", "--label", "LABEL", "--parties", "N", "--epsilon", "E")
"""The command that estimates the value of labels for a party with its own records."""
CHARGED: dict[BOUND, int] = {"theorem6": 100, "exact": 40}
"""Number of sample queries by which settings are compared, smaller for slower bounds."""
REPORTED = 400
"""Number of queries by which the settings found are charged: few settings, so more queries each."""
_SEED = 0
"""Any fixed value: repeating a search gives the same result."""


def data_dependent_rates(forecaster: Forecaster, bound: BOUND, charged: int) -> Rates:
    """Return the average cost of queries of the forecaster's sample under `bound`.

    `charged` queries are charged, at outcomes of checks that are drawn once, so that settings are comparable.
    """
    sample = forecaster.sample.thin(charged)
    few = Forecaster(sample)
    drawn = np.random.default_rng(_SEED).random((len(sample.counts), sample.classes))

    @cache
    def cost(mechanism: Mechanism, order: float, sensitivity: float) -> float:
        given = few.forecast(mechanism).given
        answers = mechanism.answers(sample.classes)
        answered = np.broadcast_to(drawn[:, : given.shape[1]] < given, (len(given), answers))
        tally = tally_votes(
            mechanism,
            few.ballots(mechanism),
            answered,
            classes=sample.classes,
            teachers=sample.teachers,
        )
        return charge(tally, order, bound, influence(sensitivity), lattice=LATTICE) / len(given)

    def rate(mechanism: Mechanism, forecast: Forecast, allowance: Allowance) -> Rate:
        each = max(cost(mechanism, allowance.order, allowance.sensitivity), AMOUNT_UNIT)
        return Rate(each, each)

    return rate
