"""Opens batches: who votes on which query, what is reserved, and the ticket that says so."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials
from ostraka.common.plan.plan import Plan, check_protected
from ostraka.common.plan.signed_lists import read_ticket
from ostraka.guardian.ledger import Budget, Ledger, StoredManifest, UnitKey
from ostraka.guardian.ledger.members import manifests, parties
from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.sessions import batches, endings
from ostraka.guardian.ledger.store.values import StoredParty
from ostraka.guardian.ledger.units import balances
from ostraka.guardian.ledger.units import budgets as unit_budgets
from ostraka.guardian.policy import Policies, Policy
from ostraka.guardian.sessions.admission import (
    all_cohorts,
    find_revoked,
    manifest_changed,
    parse_manifest,
    require_unchanged,
)
from ostraka.guardian.sessions.cohorts import Attendance, Cohort
from ostraka.guardian.sessions.payers import budgets_of, most_answers, payers, reservation, worst_cost
from ostraka.guardian.sessions.planned_voters import check_planned_quorum, check_quorum, plan_voters
from ostraka.guardian.sessions.policy_checks import check_enforcement, check_still_allowed, may_answer
from ostraka.guardian.sessions.refusals import check_size, no_budget_left, session_ended, without_smaller
from ostraka.guardian.sessions.registry import Session
from ostraka.guardian.sessions.tickets import sign_ticket
from ostraka.protos.ostraka.v1 import common_pb2


@dataclass(frozen=True)
class Eligibility:
    """The data that decide who votes in a batch.

    Attributes:
        parties: the federation's parties by site.
        budgets: of all units that may pay.
        unavailable: sites that the querying party cannot reach, or whose certificate is revoked.
        exhausted: units whose data-dependent budget is used up.
        withdrawn: parties' groups with withdrawn consent, under any adjacency.
    """

    parties: Mapping[str, StoredParty]
    budgets: Mapping[UnitKey, Budget]
    unavailable: Collection[str]
    exhausted: Collection[UnitKey]
    withdrawn: Collection[tuple[str, str]]

    @classmethod
    def now(cls, view: View, budgets: Mapping[UnitKey, Budget], unavailable: Collection[str]) -> Eligibility:
        """Read them from the ledger; data-dependent exhaustion is looked up only if it is enforced."""
        sealed = [key for key, budget in budgets.items() if budget.enforce == "data_dependent"]
        exhausted = balances.units_without_budget(view, sealed) if sealed else set()
        known = {party.site: party for party in parties.all_parties(view)}
        return cls(known, budgets, set(unavailable), exhausted, _find_withdrawn(view, budgets))


def willing(plan: Plan, attendance: Attendance, standing: Eligibility) -> Attendance:
    """Cohorts whose party answers and whose units are neither withdrawn nor frozen."""
    return _without(plan, attendance, {c for c in attendance.cohorts if not _willing(plan, c, standing)})


def solvent(plan: Plan, attendance: Attendance, standing: Eligibility) -> Attendance:
    """Cohorts whose units can all pay for one query more."""
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


def _find_withdrawn(view: View, keys: Iterable[UnitKey]) -> set[tuple[str, str]]:
    """Return groups with withdrawn consent: it covers the use of records, so under both adjacencies."""
    either = {key._replace(adjacency=adjacency) for key in keys for adjacency in ("record", "label")}
    found = balances.find_budgets(view, either)
    return {(key.party, key.group) for key, budget in found.items() if budget.state == "withdrawn"}


def _budgets(plan: Plan, cohort: Cohort, standing: Eligibility) -> dict[UnitKey, Budget]:
    keys = cohort.payers(plan.adjacency)
    return {key: standing.budgets[key] for key in keys if key in standing.budgets}


def _without(plan: Plan, attendance: Attendance, out: Collection[Cohort]) -> Attendance:
    """Remove the cohorts that are `out`; counts and updates cover all records of a party or none.

    Sums over records are separate for each group.
    """
    whole = (plan.mechanism.by_record or plan.is_training) and not plan.mechanism.sums_records
    sites = {cohort.site for cohort in out} if whole else set()
    return attendance.without({c for c in attendance.cohorts if c in out or c.site in sites})


ATTEMPTS = 3
"""How often a batch is put together if budgets or manifests that it counted on change meanwhile."""


@dataclass(frozen=True)
class Asked:
    """A batch that a querying party asks for; it cannot reach the `unavailable` parties."""

    session: Session
    batch_id: int
    size: int
    unavailable: Collection[str]


@dataclass(frozen=True)
class Opened:
    """A batch's signed ticket, its voters, and the units that pay."""

    signed: common_pb2.SignedList
    ticket: common_pb2.Ticket
    attendance: Attendance
    units: frozenset[UnitKey]


class Opening:
    """Assembles batches from the ledger's data, and stores them."""

    def __init__(self, ledger: Ledger, credentials: Credentials, policies: Policies, clock: Clock) -> None:
        self._ledger = ledger
        self._credentials = credentials
        self._policies = policies
        self._clock = clock

    def open(self, asked: Asked) -> Opened:
        """Store the batch with its reservations and return its ticket; a repetition returns the same ticket.

        Raises:
            OstrakaError: `policy.refused`, `policy.daily_limit`, `manifest.changed`, `plan.invalid`,
                `batch.too_large`, `quorum.lost`, `budget.too_small`, `session.ended`, and as
                `batches.open_batch`.
        """
        policy = self._policies.current()
        plan = asked.session.plan
        check_still_allowed(plan, asked.session.grant, policy)
        check_size(plan, asked.size)
        for attempt in range(1, ATTEMPTS + 1):
            declared = self._ledger.read(manifests.count_declared, plan.parties)
            stored = self._ledger.read(manifests.latest, plan.parties)
            participants = require_unchanged(asked.session.grant.participants, stored, plan.quorum)
            cohorts = _cohorts(plan, participants, stored)
            unavailable = {*asked.unavailable, *find_revoked(stored, self._credentials.revocations)}
            budgets = self._budgets(asked.session, cohorts, policy)
            attendance = self._attendance(asked, cohorts, budgets, unavailable, policy)
            held = {p.budget.key: reservation(plan, p) for p in payers(plan, attendance, budgets)}
            ticket = self._ticket(asked, attendance.schedule(participants), policy)
            try:
                kept = self._ledger.write_session(
                    asked.session.session_id,
                    batches.open_batch,
                    asked.batch_id,
                    asked.size,
                    ticket.SerializeToString(),
                    held,
                    votes=_votes(asked.session),
                    declared=declared,
                    unbudgeted=_find_without_budget(plan, attendance, budgets),
                    daily_limit=policy.max_queries_per_day,
                    most_open=policy.open_batches(plan),
                )
            except batches.BudgetedMeanwhileError:
                continue
            except OstrakaError as exc:
                if attempt < ATTEMPTS and _has_changed_meanwhile(exc, policy):
                    continue
                raise without_smaller(exc, plan) from exc
            return _read_opened(plan, kept, cohorts, budgets)
        raise OstrakaError(
            ErrorCode.LEDGER_LOCKED,
            "Budgets of the batch's units kept changing while its ticket was made; ask again.",
        )

    def _budgets(
        self, session: Session, cohorts: tuple[Cohort, ...], policy: Policy
    ) -> dict[UnitKey, Budget]:
        budgets = self._ledger.read(budgets_of, session.plan, cohorts)
        check_enforcement(budgets.values(), policy.enforce)
        if policy.renewal_ms is None:
            return budgets
        self._ledger.write(unit_budgets.renew, list(budgets), policy.renewal_ms)
        return self._ledger.read(balances.find_budgets, list(budgets))

    def _attendance(
        self,
        asked: Asked,
        cohorts: tuple[Cohort, ...],
        budgets: dict[UnitKey, Budget],
        unavailable: Collection[str],
        policy: Policy,
    ) -> Attendance:
        """Return who votes, among the parties that are not `unavailable`.

        If used-up units vanish and that loses the quorum, the budget counts as used up. If the session stops
        at the first used-up unit, a data-dependent budget ends it here; a worst-case budget is found when the
        batch is stored.
        """
        plan = asked.session.plan
        session = asked.session
        everyone = plan_voters(
            plan, session.grant.plan_digest, cohorts, budgets, batch_id=asked.batch_id, size=asked.size
        )
        standing = self._ledger.read(Eligibility.now, budgets, unavailable)
        check_planned_quorum(plan, everyone)
        able = willing(plan, everyone, standing)
        check_quorum(plan, able)
        if policy.on_exhaustion == "stop":
            if any(payer.budget.key in standing.exhausted for payer in payers(plan, able, budgets)):
                raise self._end(session)
            return able
        paying = solvent(plan, able, standing)
        if paying.fewest_parties() < plan.quorum:
            if session.grant.enforce == "worst_case":
                raise no_budget_left()
            raise self._end(session)
        return paying

    def _end(self, session: Session) -> OstrakaError:
        """End a session because a data-dependent budget is used up, and say only that it ended."""
        self._ledger.write_session(session.session_id, endings.end)
        return session_ended()

    def _ticket(
        self, asked: Asked, schedule: list[common_pb2.Schedule], policy: Policy
    ) -> common_pb2.SignedList:
        now = self._clock.now()
        return sign_ticket(
            self._credentials,
            session_id=asked.session.session_id,
            batch_id=asked.batch_id,
            size=asked.size,
            schedule=schedule,
            freeze_at=now + policy.freeze_s(asked.session.plan),
            expires_at=min(now + policy.ticket_life_s(asked.session.plan), asked.session.ends_at),
        )


def _cohorts(
    plan: Plan, participants: Collection[common_pb2.Participant], stored: Mapping[str, StoredManifest]
) -> tuple[Cohort, ...]:
    declared = {site: parse_manifest(manifest) for site, manifest in stored.items()}
    for participant in participants:
        site = participant.site
        check_protected(plan, site, shared_features=declared[site].shared_features)
    return all_cohorts(plan, participants, declared)


def _votes(session: Session) -> dict[str, int]:
    """Return how many votes of one person count in each party's charges."""
    return {party.site: party.max_votes_per_person for party in session.grant.participants}


def _find_without_budget(
    plan: Plan, attendance: Attendance, budgets: Mapping[UnitKey, Budget]
) -> set[UnitKey]:
    """Return the units whose records vote, and whose budget is not set."""
    units = {key for cohort in attendance.cohorts for key in cohort.payers(plan.adjacency)}
    voting = attendance.sites
    return {key for key in units - budgets.keys() if key.party in voting}


def _has_changed_meanwhile(error: OstrakaError, policy: Policy) -> bool:
    """Whether the batch can be put together anew, without a cohort that can vote no more.

    It belongs to a party that registered anew, or its unit was used up, after they were looked up.
    """
    nothing = error.code is ErrorCode.BUDGET_TOO_SMALL and error.details.get("fits") == "0"
    used_up = nothing and policy.on_exhaustion == "vanish"
    return used_up or error.code is ErrorCode.MANIFEST_CHANGED


def _read_opened(
    plan: Plan, stored: bytes, cohorts: tuple[Cohort, ...], budgets: dict[UnitKey, Budget]
) -> Opened:
    """Return the stored ticket's contents; it may be from an earlier request with other parties.

    Raises `manifest.changed` if one of them registered something else since.
    """
    signed = common_pb2.SignedList.FromString(stored)
    ticket = read_ticket(stored)
    unknown = {one.participant.site for one in ticket.schedule} - {cohort.site for cohort in cohorts}
    if unknown:
        raise manifest_changed(unknown)
    attendance = Attendance.of_ticket(ticket, cohorts)
    units = frozenset(payer.budget.key for payer in payers(plan, attendance, budgets))
    return Opened(signed, ticket, attendance, units)
