"""The worst case of a mechanism under a budget, and of others with the same noise beside it."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ostraka.common.errors import OstrakaError
from ostraka.common.mechanism import Binary, GnMax, LnMax, Mechanism, Powerset, Tau
from ostraka.common.planning.candidate import Candidate, fits
from ostraka.common.privacy import AMOUNT_UNIT, budget_amount, budget_rdp, epsilon


@dataclass(frozen=True)
class Limit:
    """A budget: `epsilon` at `delta`, spent at one Renyi order."""

    epsilon: float
    delta: float
    order: float

    @property
    def rdp(self) -> float:
        """What may be spent, as rdp at the order."""
        return budget_rdp(self.epsilon, self.delta, self.order)

    def fits(self, candidate: Candidate, *, answered: bool = True) -> int | None:
        """How many queries it pays for, all answered or none; None: any number in one batch."""
        cost = candidate.cost(self.order)
        answers = candidate.given(cost, answered=answered)
        return fits(cost, answers, budget_amount(self.rdp))

    def epsilon_of(self, rdp: float) -> float:
        """Return the epsilon that `rdp` at this order comes to."""
        return epsilon(rdp, self.order, self.delta)


def worst_figures(candidate: Candidate, limit: Limit, queries: int) -> dict[str, Any]:
    """Return the cost of one query, how many fit, and the cost of `queries`, in JSON's types."""
    cost = candidate.cost(limit.order)
    none, every = (candidate.given(cost, answered=answered) for answered in (False, True))
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
    """Mechanisms that answer the same task with the same noise, by a name for a plot."""
    return {
        name: replace(candidate, mechanism=mechanism)
        for name, mechanism in _others(candidate.mechanism, candidate.classes)
        if mechanism.kind != candidate.mechanism.kind and _possible(mechanism, candidate.classes)
    }


def _others(mechanism: Mechanism, labels: int) -> Iterator[tuple[str, Mechanism]]:
    sigma, check = mechanism.sigmas[-1:], mechanism.noisy_check
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
