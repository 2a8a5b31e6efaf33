"""Worst-case forecast of a plan for each party, read-only, from plans and manifests alone."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from ostraka.common.identity import Identity, Role
from ostraka.common.plan.plan import Plan
from ostraka.common.privacy import AMOUNT_UNIT, Influence, epsilon
from ostraka.common.privacy.filters import sent_order
from ostraka.guardian.ledger import Budget, UnitKey
from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.units import balances
from ostraka.guardian.policy import Policy
from ostraka.guardian.sessions.admission import Admitted
from ostraka.guardian.sessions.payers import most_answers, worst_cost
from ostraka.guardian.sessions.planned_voters import MAX_QUERIES, often, queries_paid
from ostraka.guardian.sessions.weights import whole_budget
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2


@dataclass(frozen=True)
class _Unit:
    """A unit's budget, its influence on one query, and the labels and frequency of its cohort's votes."""

    budget: Budget
    influence: Influence
    abstains: tuple[int, ...]
    frequency: Fraction


def plan_reply(plan: Plan, admitted: Admitted, policy: Policy, asker: Identity) -> guardian_pb2.PlanReply:
    """Return the cost of an admitted plan to each party, by site.

    Under `worst_case` enforcement the reply says how many queries fit. Under `data_dependent` the rest of a
    budget depends on votes, so nothing in the reply depends on it. A party learns nothing about other
    parties' balances.
    """
    frequencies = often(plan, admitted.cohorts, admitted.budgets)
    units = [
        _Unit(admitted.budgets[key], influence, cohort.abstains, frequency)
        for cohort, frequency in zip(admitted.cohorts, frequencies, strict=True)
        for key, influence in cohort.payers(plan.adjacency).items()
        if key in admitted.budgets
    ]
    participants = admitted.participants
    teachers = sum(party.teachers for party in participants.values())
    messages = [cohort for party in participants.values() for cohort in party.cohorts]
    voters = sum(cohort.teachers * f for cohort, f in zip(messages, frequencies, strict=True))
    # If records answer and no teacher does, nothing is scaled by teachers.
    share = Fraction(voters, teachers) * _upsampling_factor(admitted.manifests.values()) if teachers else 1
    paying = {site: [u for u in units if u.budget.key.party == site] for site in sorted(participants)}
    shown = {
        site: policy.enforce == "worst_case" and (asker.role is not Role.PARTY or asker.site == site)
        for site in paying
    }
    return guardian_pb2.PlanReply(
        enforce=policy.enforce,
        bound=policy.bound_of(plan),
        parties=[_cost(plan, participants[site], of, shown=shown[site]) for site, of in paying.items()],
        teachers=teachers,
        voters=float(voters),
        scale=float(share),
        fits=_count_releasable(plan, paying.values(), policy) if all(shown.values()) else None,
        encodings=policy.encodings,
    )


def unit_terms(
    view: View, plan: Plan, participants: Iterable[common_pb2.Participant]
) -> list[guardian_pb2.UnitTerms]:
    """Return order and delta of the budgets that a granted plan charges, by unit."""
    keys = {
        UnitKey(party.site, group, plan.adjacency)
        for party in participants
        for cohort in party.cohorts
        for group in cohort.groups
    }
    return [
        guardian_pb2.UnitTerms(
            site=key.party, group=key.group, order=sent_order(budget.order), delta=budget.delta
        )
        for key, budget in balances.find_budgets(view, keys).items()
    ]


def _count_releasable(plan: Plan, paying: Iterable[list[_Unit]], policy: Policy) -> int:
    """Return the largest number of queries that can be released.

    All units must pay for them, unless used-up units vanish. Then as many voting parties as the quorum
    requires must have a unit left that pays.
    """
    taking = [units for units in paying if any(unit.frequency for unit in units)]
    fitting = [[_fits(plan, unit, unit.budget.available) for unit in units] for units in taking]
    if policy.on_exhaustion != "vanish":
        return min(min(fits) for fits in fitting)
    return sorted((max(fits) for fits in fitting), reverse=True)[plan.quorum - 1]


def _upsampling_factor(manifests: Iterable[common_pb2.Manifest]) -> Fraction:
    """Divide records with their copies by records, for all parties: N'/N.

    Mühl and Boenisch 2022, Appendix B.
    """
    groups = [group for manifest in manifests for group in manifest.groups]
    copied = sum(group.records * max(1, group.copies) for group in groups)
    return Fraction(copied, sum(group.records for group in groups))


def _cost(
    plan: Plan, party: common_pb2.Participant, units: list[_Unit], *, shown: bool
) -> guardian_pb2.PartyCost:
    """Return the cost to the unit of a party that pays for the fewest queries of the session.

    The comparison uses the rest of budgets if balances are `shown`, else whole budgets.
    """
    fitting = [_fits(plan, u, u.budget.available if shown else whole_budget(u.budget)) for u in units]
    fits, tightest = min(zip(fitting, units, strict=True), key=lambda found: found[0])
    return guardian_pb2.PartyCost(
        site=party.site,
        teachers=party.teachers,
        order=sent_order(tightest.budget.order),
        delta=tightest.budget.delta,
        epsilon=_epsilon(plan, tightest),
        budget_epsilon=tightest.budget.epsilon,
        fits=fits if shown else None,
        group=tightest.budget.key.group,
        together=party.together,
        whole_persons=party.whole_persons,
        rdp_left=tightest.budget.available * AMOUNT_UNIT if shown else None,
        sensitivity=tightest.influence.sensitivity,
        records=sum(sum(cohort.records) for cohort in party.cohorts),
    )


def _fits(plan: Plan, unit: _Unit, available: int) -> int:
    """Return how many of the session's queries `available` amounts pay for; its cohort votes on some."""
    if not unit.frequency:
        return MAX_QUERIES
    paid = queries_paid(plan, unit.budget, unit.influence, available, unit.abstains)
    return min(int(paid / unit.frequency), MAX_QUERIES)


def _epsilon(plan: Plan, unit: _Unit) -> float:
    queries = -int(-plan.queries * unit.frequency // 1)
    cost = worst_cost(plan, unit.budget.order, unit.influence, unit.abstains)
    amount = cost.reservation(queries, most_answers(plan, unit.abstains))
    return epsilon(amount * AMOUNT_UNIT, unit.budget.order, unit.budget.delta)
