"""A plan's figures and curves, from a mechanism and a budget, with or without simulated votes."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import OstrakaError
from ostraka.common.mechanism import BOUND, Binary, GnMax, LnMax, Mechanism, Powerset, Tau
from ostraka.common.planning.candidate import (
    Candidate,
    Curve,
    epsilons,
    fits,
    propose_order,
    queries_up_to,
    worst_case_curve,
)
from ostraka.common.privacy import (
    AMOUNT_UNIT,
    FEW_ORDERS,
    ORDERS,
    Influence,
    budget_amount,
    budget_rdp,
    epsilon,
)
from ostraka.common.privacy.filters import GAUSSIAN, filter_name, sent_order
from ostraka.guardian.mechanisms import Answers, charge
from ostraka.guardian.mechanisms.votes import release_votes, tally_votes
from ostraka.guardian.noise import LATTICE, NoiseSource
from ostraka.guardian.planning.votes_file import Votes


@dataclass(frozen=True)
class Limit:
    """A budget: `epsilon` at `delta`, spent at one Renyi order or `GAUSSIAN`."""

    epsilon: float
    delta: float
    order: float

    @property
    def rdp(self) -> float:
        """The limit as rdp at the order."""
        return budget_rdp(self.epsilon, self.delta, self.order)

    def fits(self, candidate: Candidate, *, answered: bool = True) -> int | None:
        """Return how many queries it pays for, all answered or none; None: any number in one batch."""
        cost = candidate.cost(self.order)
        answers = candidate.answers_given(cost, answered=answered)
        return fits(cost, answers, budget_amount(self.rdp))

    def epsilon_of(self, rdp: float) -> float:
        """Return the epsilon of `rdp` at this order."""
        return epsilon(rdp, self.order, self.delta)


def worst_figures(candidate: Candidate, limit: Limit, queries: int) -> dict[str, Any]:
    """Return the cost of one query, the number that fits, and the cost of `queries`, in JSON's types."""
    cost = candidate.cost(limit.order)
    none, every = (candidate.answers_given(cost, answered=answered) for answered in (False, True))
    return {
        "rdp_of_a_batch": cost.batch,
        "rdp_of_a_check": cost.check,
        "rdp_of_an_answer": (cost.reservation(1, every) - cost.reservation(1, 0)) * AMOUNT_UNIT,
        "fits_all_answered": limit.fits(candidate),
        "fits_none_answered": limit.fits(candidate, answered=False),
        "queries": queries,
        "epsilon_all_answered": limit.epsilon_of(cost.reservation(queries, every) * AMOUNT_UNIT),
        "epsilon_none_answered": limit.epsilon_of(cost.reservation(queries, none) * AMOUNT_UNIT),
    }


def alternatives(candidate: Candidate) -> Mapping[str, Candidate]:
    """Mechanisms for the same task with the same noise, by a name for a plot."""
    return {
        name: replace(candidate, mechanism=mechanism)
        for name, mechanism in _others(candidate.mechanism, candidate.classes)
        if mechanism.kind != candidate.mechanism.kind and _possible(mechanism, candidate.classes)
    }


def _others(mechanism: Mechanism, labels: int) -> Iterator[tuple[str, Mechanism]]:
    sigma = mechanism.sigmas[-1:]
    check = mechanism.noisy_check
    if mechanism.by_record or not sigma:
        return
    if mechanism.multi_label:
        yield "binary", Binary(sigma=sigma[0], check=check)
        for tau in (math.sqrt(labels) / 2, 1.0):
            yield f"tau {tau:.2g}", Tau(sigma=sigma[0], tau=tau, check=check)
        yield "powerset", Powerset(sigma=sigma[0], check=check)
    else:
        yield "gnmax", GnMax(sigma=sigma[0])
        yield "lnmax", LnMax(gamma=math.sqrt(2) / sigma[0])


def _possible(mechanism: Mechanism, classes: int) -> bool:
    try:
        mechanism.check_classes(classes)
    except OstrakaError:
        return False
    return True


BOUNDS: Sequence[BOUND] = get_args(BOUND)
_PIECES = 40
"""Points of a drawn line: enough for a picture; each costs one more charge under every bound."""
_SAMPLE = 200
"""Number of queries for finding the best order; each is charged at every searched order."""


@dataclass(frozen=True)
class Expected:
    """One simulated session.

    Attributes:
        answers: what was released.
        queries: numbers of queries, ascending; the last is all of them.
        spent: rdp of that many first queries under each bound, at the budget's order.
        best: the order at which the budget would pay for the most such queries under each bound.
    """

    answers: Answers
    queries: NDArray[np.int64]
    spent: dict[BOUND, NDArray[np.float64]]
    best: dict[BOUND, float]


def simulate(candidate: Candidate, votes: Votes, limit: Limit, noise: NoiseSource) -> Expected:
    """Release the simulated votes once, and charge them at the budget's order under every bound.

    A batch whose cost does not depend on its size is charged as a whole.
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


def simulation_figures(expected: Expected, limit: Limit) -> dict[str, Any]:
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


def simulation_curves(expected: Expected, limit: Limit) -> list[Curve]:
    """Epsilon after the first queries, a line for each bound."""
    return [
        Curve(f"expected, {_text_of_bound(bound)}", *_line(expected.queries, spent, limit))
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


def _text_of_bound(bound: BOUND) -> str:
    return {"worst_case": "worst case", "theorem6": "theorem6 (one direction)", "exact": "exact"}[bound]


def _best_order(
    candidate: Candidate, votes: Votes, answers: Answers, part: slice, limit: Limit, bound: BOUND
) -> float:
    def queries(order: float) -> float:
        cost = _charge(candidate, votes, answers, part, order, bound)
        return replace(limit, order=order).rdp / max(cost, AMOUNT_UNIT)

    return max(FEW_ORDERS, key=queries)


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
    """Return the votes that may differ: more than one if a single vote of weight 1 changes less."""
    votes = math.ceil(sensitivity)
    return Influence(votes, sensitivity / votes)


QUERIES = 1000
"""Default number of queries of a plan."""


@dataclass(frozen=True)
class Planned:
    """The figures to print, in JSON's types, and the curves to draw."""

    figures: dict[str, Any]
    curves: Sequence[Curve]


def plan(
    candidate: Candidate,
    epsilon: float,
    delta: float,
    noise: Callable[[], NoiseSource],
    *,
    orders: Sequence[float] = (*ORDERS, GAUSSIAN),
    queries: int | None = None,
    votes: Votes | None = None,
) -> Planned:
    """Plan `queries` of a mechanism under a budget, at the one of `orders` that pays for the most.

    Simulated `votes` predict the result, from their first `queries`; only they need `noise`. Raises
    `budget.too_small` if the budget pays for nothing at any order, and ValueError for an epsilon or delta out
    of range.
    """
    proposed = propose_order(candidate, epsilon, delta)
    limit = Limit(epsilon, delta, propose_order(candidate, epsilon, delta, orders))
    asked = queries or (len(votes.counts) if votes else QUERIES)
    others = alternatives(candidate)
    figures: dict[str, Any] = {
        "mechanism": candidate.mechanism.model_dump(),
        "classes": candidate.classes,
        "sensitivity": candidate.sensitivity,
        "budget": {
            "epsilon": epsilon,
            "delta": delta,
            "order": sent_order(limit.order),
            "filter": filter_name(limit.order),
            "proposed_order": sent_order(proposed),
            "proposed_filter": filter_name(proposed),
        },
        "worst_case": worst_figures(candidate, limit, asked),
        "others_fit": {name: limit.fits(other) for name, other in others.items()},
        "expected": None,
    }
    curves = _worst_curves(candidate, limit, asked)
    if votes is not None:
        expected = simulate(candidate, votes.first(asked), limit, noise())
        figures["expected"] = simulation_figures(expected, limit)
        curves += simulation_curves(expected, limit)
    at = queries_up_to(asked)
    curves += [
        worst_case_curve(f"{name}, worst case", other, limit.order, delta, at, main=False)
        for name, other in others.items()
    ]
    return Planned(figures, curves)


def _worst_curves(candidate: Candidate, limit: Limit, asked: int) -> list[Curve]:
    at = queries_up_to(asked)
    kind = candidate.mechanism.kind
    every = worst_case_curve(f"{kind}, worst case", candidate, limit.order, limit.delta, at)
    none = worst_case_curve(
        f"{kind}, no query passes", candidate, limit.order, limit.delta, at, answered=False
    )
    return [every] if np.array_equal(every.epsilon, none.epsilon) else [every, none]
