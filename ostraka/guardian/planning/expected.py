"""Expected results on simulated votes: answered queries, and their cost under each bound."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import BOUND
from ostraka.common.planning.candidate import Candidate
from ostraka.common.planning.curves import Curve, epsilons
from ostraka.common.privacy import AMOUNT_UNIT, ORDERS, Influence
from ostraka.guardian.mechanisms import Answers, charge
from ostraka.guardian.mechanisms.votes import release_votes, tally_votes
from ostraka.guardian.noise import LATTICE, NoiseSource
from ostraka.guardian.planning.votes_file import Votes
from ostraka.guardian.planning.worst import Limit

BOUNDS: Sequence[BOUND] = get_args(BOUND)
_PIECES = 40
_SEARCHED = ORDERS[::4]
_SAMPLE = 200
"""Queries that the best order is found with, of which every one is charged at every order searched."""


@dataclass(frozen=True)
class Expected:
    """One simulated session.

    Attributes:
        answers: what was released.
        queries: numbers of queries, ascending; the last is all of them.
        spent: rdp that the first so many queries cost under each bound, at the budget's order.
        best: the order at which the budget would pay for the most such queries under each bound.
    """

    answers: Answers
    queries: NDArray[np.int64]
    spent: dict[BOUND, NDArray[np.float64]]
    best: dict[BOUND, float]


def simulate(candidate: Candidate, votes: Votes, limit: Limit, noise: NoiseSource) -> Expected:
    """Release the simulated votes once, and charge them at the budget's order under every bound.

    A batch that costs the same whatever its size is charged whole.
    """
    answers = release_votes(
        candidate.mechanism,
        votes.counts,
        noise,
        classes=candidate.classes,
        teachers=votes.teachers,
        scores=votes.scores,
    )
    pieces = 1 if candidate.cost(limit.order).batch else min(_PIECES, len(votes.counts))
    ends = np.linspace(0, len(votes.counts), pieces + 1).astype(np.int64)
    parts = [slice(start, end) for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]
    spent = {
        bound: np.cumsum([_charge(candidate, votes, answers, part, limit.order, bound) for part in parts])
        for bound in BOUNDS
    }
    sampled = slice(None, None, 1 if pieces == 1 else max(1, len(votes.counts) // _SAMPLE))
    best = {bound: _best_order(candidate, votes, answers, sampled, limit, bound) for bound in BOUNDS}
    return Expected(answers, ends[1:], spent, best)


def expected_figures(expected: Expected, limit: Limit) -> dict[str, Any]:
    """Return the simulated session in JSON's types; `fits` continues at a simulated query's mean cost."""
    simulated = int(expected.queries[-1])
    return {
        "queries": simulated,
        "answered": float(expected.answers.answered.mean()),
        "bounds": {
            bound: {
                "epsilon": limit.epsilon_of(float(spent[-1])),
                "fits": _fits(spent, simulated, limit),
                "best_order": expected.best[bound],
            }
            for bound, spent in expected.spent.items()
        },
    }


def expected_curves(expected: Expected, limit: Limit) -> list[Curve]:
    """Epsilon after the first queries, a line for each bound."""
    return [
        Curve(f"expected, {_said(bound)}", *_line(expected.queries, spent, limit))
        for bound, spent in expected.spent.items()
    ]


def _line(
    queries: NDArray[np.int64], spent: NDArray[np.float64], limit: Limit
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return a bound's line; a single batch costs the same from its first query to its last."""
    at = np.append(1, queries) if len(queries) == 1 else queries
    return at, np.resize(epsilons(spent, limit.order, limit.delta), len(at))


def _fits(spent: NDArray[np.float64], queries: int, limit: Limit) -> int | None:
    if len(spent) == 1:
        return None if spent[-1] <= limit.rdp else 0
    mean = float(spent[-1]) / queries
    return int(limit.rdp / mean) if mean > 0 else None


def _said(bound: BOUND) -> str:
    return {"worst_case": "worst case", "theorem6": "theorem6 (one direction)", "exact": "exact"}[bound]


def _best_order(
    candidate: Candidate, votes: Votes, answers: Answers, part: slice, limit: Limit, bound: BOUND
) -> float:
    def queries(order: float) -> float:
        cost = _charge(candidate, votes, answers, part, order, bound)
        return replace(limit, order=order).rdp / max(cost, AMOUNT_UNIT)

    return max(_SEARCHED, key=queries)


def _charge(
    candidate: Candidate, votes: Votes, answers: Answers, part: slice, order: float, bound: BOUND
) -> float:
    released = tally_votes(
        candidate.mechanism,
        votes.counts[part],
        answers.answered[part],
        classes=candidate.classes,
        teachers=votes.teachers,
        scores=None if votes.scores is None else votes.scores[part],
    )
    return charge(released, order, bound, influence(candidate.sensitivity), lattice=LATTICE)


def influence(sensitivity: float) -> Influence:
    """Return the votes that may differ: more than one where one of weight 1 does not change as much."""
    votes = math.ceil(sensitivity)
    return Influence(votes, sensitivity / votes)
