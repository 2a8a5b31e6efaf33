"""Worst-case cost to each party's records, of one run or several together."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.client.session.answers import answer_mask
from ostraka.client.session.run_state import BatchState, GrantedCohort, GrantedParty, GroupTerms, RunState
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.plan import Plan
from ostraka.common.privacy import ORDERS, epsilon
from ostraka.common.privacy.filters import received_order, sent_order
from ostraka.common.privacy.guarantees import DELTA, NO_GUARANTEE, plan_notion


@dataclass(frozen=True)
class GroupCost:
    """The charges to the records of one group whose teachers vote together.

    Attributes:
        group: the group's name.
        cohort: all groups whose records these teachers were trained on.
        asked: number of queries that they voted on.
        answered: number of these queries with any answer.
        delta: of the epsilon.
        orders: the order of the group's budget, or all of `ORDERS` if it is unknown.
        rdp: at each of these orders, in nats.
    """

    group: str
    cohort: tuple[str, ...]
    asked: int
    answered: int
    delta: float
    orders: tuple[float, ...]
    rdp: tuple[float, ...]

    def plus(self, other: "GroupCost") -> "GroupCost":
        """Return both charges to the same records together."""
        # Exactly rounded sums do not depend on the order of runs and batches.
        rdp = tuple(math.fsum(pair) for pair in zip(self.rdp, other.rdp, strict=True))
        asked = self.asked + other.asked
        return replace(self, asked=asked, answered=self.answered + other.answered, rdp=rdp)

    def as_json(self) -> dict[str, Any]:
        """Return the cost as JSON types: epsilon at delta, and its order, 0 for a Gaussian filter."""
        value, order = self._least()
        return {
            "group": self.group,
            "asked": self.asked,
            "answered": self.answered,
            "epsilon_worst_case": value,
            "delta": self.delta,
            "order": order,
        }

    def _least(self) -> tuple[float, float | None]:
        if not self.asked:
            return 0.0, None
        known = zip(self.rdp, self.orders, strict=True)
        value, order = min((epsilon(rdp, order, self.delta), order) for rdp, order in known)
        return value, sent_order(order)


def notion(states: Sequence[RunState]) -> str:
    """Return the privacy notion of these runs' epsilons; raise `run.mismatch` if the runs differ in it.

    There is no guarantee if teachers of any party learned by ttac.
    """
    promised = {state.parse_plan().adjacency for state in states}
    if len(promised) > 1:
        raise OstrakaError(
            ErrorCode.RUN_MISMATCH,
            "Runs charged under label-DP and runs charged under DP for records do not add up: "
            "report each by itself.",
        )
    if any(state.unguaranteed for state in states):
        return NO_GUARANTEE
    whole = all(party.whole_persons for state in states for party in state.parties)
    return plan_notion(promised.pop(), whole_persons=whole and any(state.parties for state in states))


def party_costs(states: Sequence[RunState], delta: float | None) -> list[dict[str, Any]]:
    """Return what runs together cost each of their parties, as JSON types; each run has its own session.

    Each party has an epsilon for each of its groups and, first, for the group with the largest. It is the
    epsilon of the guardian's budget: at the budget's order, because costs that depend on answers have no
    bound at another order without further loss (docs/accounting.md), and at the budget's delta unless `delta`
    is given. If a run has neither, it is at the best order and at `DELTA`. Raises `run.mismatch` as `notion`.
    """
    promised = notion(states)
    sites = sorted({party.site for state in states for party in state.parties})
    return [_party(site, states, promised, delta) for site in sites]


def _party(site: str, states: Sequence[RunState], promised: str, delta: float | None) -> dict[str, Any]:
    took_part = [(state, party) for state in states for party in state.parties if party.site == site]
    # The last session's terms: a budget may have been set anew since the others.
    terms = {group: known for _, party in took_part for group, known in party.terms.items()}
    costs: dict[tuple[str, tuple[str, ...]], GroupCost] = {}
    for state, party in took_part:
        for cost in _group_costs(state, party, terms, delta):
            key = cost.group, cost.cohort
            costs[key] = costs[key].plus(cost) if key in costs else cost
    groups = [cost.as_json() for cost in costs.values()]
    latest, last = took_part[-1]
    return {
        "site": site,
        "teachers": last.teachers,
        "abstains": [latest.classes[label] for label in last.abstains],
        "notion": promised,
        **max(groups, key=lambda group: float(group["epsilon_worst_case"])),
        "groups": groups,
    }


def _group_costs(
    state: RunState, party: GrantedParty, terms: Mapping[str, GroupTerms], delta: float | None
) -> Iterator[GroupCost]:
    """Yield the cost of one run for each group of a party, for the labels that it votes on."""
    plan = state.parse_plan()
    silent = plan.columns_of(party.abstains)
    batches = [batch for batch in state.batches if _may_have_cost(batch, party)]
    # A run of an earlier version has no cohorts: the whole party was one.
    whole = GrantedCohort(groups={"all": 1}, teachers=party.teachers, weight=1.0)
    for place, cohort in enumerate(party.cohorts or [whole]):
        answers = [
            np.delete(_answer_mask(batch, plan)[_votes(batch, party.site, place)], silent, axis=1)
            for batch in batches
        ]
        for group, sensitivity in _sensitivities(cohort, party, plan).items():
            known = terms.get(group)
            orders = ORDERS if known is None else (received_order(known.order),)
            kept = DELTA if known is None else known.delta
            yield GroupCost(
                group=group,
                cohort=tuple(sorted(cohort.groups)),
                asked=sum(len(answered) for answered in answers),
                answered=sum(int(answered.any(axis=1).sum()) for answered in answers),
                delta=kept if delta is None else delta,
                orders=orders,
                rdp=_rdp(plan, answers, orders, sensitivity, plan.classes - len(silent)),
            )


def _rdp(
    plan: Plan,
    answers: Sequence[NDArray[np.bool_]],
    orders: Sequence[float],
    sensitivity: float,
    classes: int,
) -> tuple[float, ...]:
    """Return the cost of batches with these answers, at each order; 0 for a party that votes on no label."""
    if not classes:
        return (0.0,) * len(orders)
    costs = [plan.mechanism.worst_case(order, sensitivity, classes=classes) for order in orders]
    return tuple([math.fsum([cost.rdp(answered) for answered in answers]) for cost in costs])


def _sensitivities(cohort: GrantedCohort, party: GrantedParty, plan: Plan) -> dict[str, float]:
    """Return how many votes a person of each group changes in one query; records that vote do so once."""
    return {
        group: party.max_votes_per_person * (1 if plan.mechanism.by_record else copies) * cohort.weight
        for group, copies in cohort.groups.items()
    }


def _votes(batch: BatchState, site: str, place: int) -> NDArray[np.bool_]:
    """Return which of a batch's queries a party's cohort voted on; all if no ticket was stored."""
    bits = bytes.fromhex(batch.schedule[site][place]) if batch.schedule else b""
    if not bits:
        return np.ones(len(batch.queries), np.bool_)
    return np.unpackbits(np.frombuffer(bits, np.uint8), count=len(batch.queries)).astype(np.bool_)


def _may_have_cost(batch: BatchState, party: GrantedParty) -> bool:
    if batch.status == "dead" or (batch.schedule and party.site not in batch.schedule):
        return False
    return not batch.parties or party.site in batch.parties


def _answer_mask(batch: BatchState, plan: Plan) -> NDArray[np.bool_]:
    """Return which of a batch's answers were or may have been charged: (queries, answers per query)."""
    if batch.status == "open":
        return np.ones((len(batch.queries), plan.mechanism.answers(plan.classes)), np.bool_)
    if batch.status == "lost":
        return np.array(batch.charged, np.bool_)
    return answer_mask(batch.answers, plan)
