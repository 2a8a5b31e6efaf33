"""Eligibility of parties for a batch: decided before its ticket is signed, never after."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from ostraka.common.plan.plan import Plan
from ostraka.guardian.ledger import Budget, UnitKey
from ostraka.guardian.ledger.members import parties
from ostraka.guardian.ledger.store.values import StoredParty
from ostraka.guardian.ledger.units import balances
from ostraka.guardian.ledger.view import View
from ostraka.guardian.sessions.batch_voters import Attendance
from ostraka.guardian.sessions.cohorts import Cohort
from ostraka.guardian.sessions.payers import most_answers, worst_cost
from ostraka.guardian.sessions.policy_checks import may_answer


@dataclass(frozen=True)
class Eligibility:
    """What decides who takes part in a batch.

    Attributes:
        parties: the federation's parties by site.
        budgets: of all units that may pay.
        unavailable: sites that the querying party cannot reach, or whose certificate is revoked.
        exhausted: units whose data-dependent budget is used up.
        withdrawn: parties' groups whose consent is withdrawn, under whatever adjacency.
    """

    parties: Mapping[str, StoredParty]
    budgets: Mapping[UnitKey, Budget]
    unavailable: Collection[str]
    exhausted: Collection[UnitKey]
    withdrawn: Collection[tuple[str, str]]

    @classmethod
    def now(cls, view: View, budgets: Mapping[UnitKey, Budget], unavailable: Collection[str]) -> Eligibility:
        """As the ledger has it; data-dependent exhaustion is looked up only where it is enforced."""
        sealed = [key for key, budget in budgets.items() if budget.enforce == "data_dependent"]
        exhausted = balances.exhausted(view, sealed) if sealed else set()
        known = {party.site: party for party in parties.all_parties(view)}
        return cls(known, budgets, set(unavailable), exhausted, _withdrawn(view, budgets))


def willing(plan: Plan, attendance: Attendance, standing: Eligibility) -> Attendance:
    """Those whose party answers and none of whose units is withdrawn or frozen."""
    return _without(plan, attendance, {c for c in attendance.cohorts if not _willing(plan, c, standing)})


def solvent(plan: Plan, attendance: Attendance, standing: Eligibility) -> Attendance:
    """Those all of whose units can pay for one query more."""
    return _without(plan, attendance, {c for c in attendance.cohorts if not _solvent(plan, c, standing)})


def _willing(plan: Plan, cohort: Cohort, standing: Eligibility) -> bool:
    answers = cohort.site not in standing.unavailable and may_answer(standing.parties.get(cohort.site))
    consents = not any((cohort.site, group) in standing.withdrawn for group, _ in cohort.groups)
    active = (budget.state == "active" for budget in _budgets(plan, cohort, standing).values())
    return answers and consents and all(active)


def _solvent(plan: Plan, cohort: Cohort, standing: Eligibility) -> bool:
    influences = cohort.payers(plan.adjacency)
    for key, budget in _budgets(plan, cohort, standing).items():
        if key in standing.exhausted:
            return False
        one = worst_cost(plan, budget.order, influences[key], cohort.abstains)
        least = one.reservation(1, most_answers(plan, cohort.abstains))
        if budget.enforce == "worst_case" and budget.available < least:
            return False
    return True


def _withdrawn(view: View, keys: Iterable[UnitKey]) -> set[tuple[str, str]]:
    """Consent is to the use of records, so that no other adjacency goes on without it."""
    either = {key._replace(adjacency=adjacency) for key in keys for adjacency in ("record", "label")}
    found = balances.find_budgets(view, either)
    return {(key.party, key.group) for key, budget in found.items() if budget.state == "withdrawn"}


def _budgets(plan: Plan, cohort: Cohort, standing: Eligibility) -> dict[UnitKey, Budget]:
    keys = cohort.payers(plan.adjacency)
    return {key: standing.budgets[key] for key in keys if key in standing.budgets}


def _without(plan: Plan, attendance: Attendance, out: Collection[Cohort]) -> Attendance:
    """Without the cohorts that are `out`; a party's counts and updates are of all its records or of none."""
    whole = plan.mechanism.by_record or plan.is_training
    sites = {cohort.site for cohort in out} if whole else set()
    return attendance.without({c for c in attendance.cohorts if c in out or c.site in sites})
