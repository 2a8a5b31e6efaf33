"""A plan's figures and curves, from a mechanism and a budget, with or without simulated votes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ostraka.common.planning.candidate import Candidate, propose_order
from ostraka.common.planning.curves import Curve, queries_up_to, worst_case_curve
from ostraka.guardian.noise import NoiseSource
from ostraka.guardian.planning.expected import expected_curves, expected_figures, simulate
from ostraka.guardian.planning.votes_file import Votes
from ostraka.guardian.planning.worst import Limit, alternatives, worst_figures

QUERIES = 1000
"""Queries that a plan is about where nobody says how many."""


@dataclass(frozen=True)
class Planned:
    """What is printed, in JSON's types, and what is drawn."""

    figures: dict[str, Any]
    curves: Sequence[Curve]


def plan(
    candidate: Candidate,
    epsilon: float,
    delta: float,
    noise: Callable[[], NoiseSource],
    *,
    order: float | None = None,
    queries: int | None = None,
    votes: Votes | None = None,
) -> Planned:
    """Plan `queries` of a mechanism under a budget, whose order is proposed where none is given.

    Simulated `votes`, of which the first `queries` are taken, say what to expect; they alone ask for `noise`.
    Raises `budget.too_small` where the budget pays for nothing at any order, and ValueError for an epsilon,
    delta or order out of range.
    """
    proposed = propose_order(candidate, epsilon, delta)
    limit = Limit(epsilon, delta, order or proposed)
    asked = queries or (len(votes.counts) if votes else QUERIES)
    others = alternatives(candidate)
    figures: dict[str, Any] = {
        "mechanism": candidate.mechanism.model_dump(),
        "classes": candidate.classes,
        "sensitivity": candidate.sensitivity,
        "budget": {"epsilon": epsilon, "delta": delta, "order": limit.order, "proposed_order": proposed},
        "worst_case": worst_figures(candidate, limit, asked),
        "others_fit": {name: limit.fits(other) for name, other in others.items()},
        "expected": None,
    }
    curves = _worst_curves(candidate, limit, asked)
    if votes is not None:
        expected = simulate(candidate, votes.first(asked), limit, noise())
        figures["expected"] = expected_figures(expected, limit)
        curves += expected_curves(expected, limit)
    at = queries_up_to(asked)
    curves += [
        worst_case_curve(f"{name}, worst case", other, limit.order, delta, at, main=False)
        for name, other in others.items()
    ]
    return Planned(figures, curves)


def _worst_curves(candidate: Candidate, limit: Limit, asked: int) -> list[Curve]:
    at, kind = queries_up_to(asked), candidate.mechanism.kind
    every = worst_case_curve(f"{kind}, worst case", candidate, limit.order, limit.delta, at)
    none = worst_case_curve(
        f"{kind}, no query passes", candidate, limit.order, limit.delta, at, answered=False
    )
    return [every] if np.array_equal(every.epsilon, none.epsilon) else [every, none]
