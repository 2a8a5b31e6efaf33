"""Standing of a member at the guardian: a party's units, a querying party's sessions."""

import math

from ostraka.common.clock import Clock
from ostraka.common.identity import Identity, Role
from ostraka.common.privacy.filters import sent_order
from ostraka.guardian.ledger import Budget, LedgerReader, SessionSummary
from ostraka.guardian.ledger.members import limits, manifests, parties
from ostraka.guardian.ledger.sessions import sessions
from ostraka.guardian.ledger.units import balances
from ostraka.guardian.policy import Policies
from ostraka.protos.ostraka.v1 import guardian_pb2

SESSIONS = 100
"""Largest number of sessions in a reply, the newest ones."""
STEPS = 100
"""Parts of a budget to which a party's amounts are rounded: the cost of a batch reveals how many of its
queries were answered.
"""


class MemberStanding:
    """Tells a caller only about itself. Nothing in it depends on votes, whatever the policy enforces."""

    def __init__(self, ledger: LedgerReader, policies: Policies, clock: Clock) -> None:
        self._ledger = ledger
        self._policies = policies
        self._clock = clock

    def of(self, caller: Identity) -> guardian_pb2.StandingReply:
        """Return the standing of `caller`: a party's state and units, and any sessions it opened."""
        reply = guardian_pb2.StandingReply(sessions=self._sessions(caller))
        if caller.role is Role.PARTY:
            found = self._ledger.read(parties.all_parties, caller.site)
            reply.state = next((party.shown_state for party in found), "")
            whole = caller.site in self._ledger.read(manifests.always_whole, [caller.site])
            budgets = self._ledger.read(balances.all_budgets, caller.site)
            reply.units.extend(_unit(budget, whole_persons=whole) for budget in budgets)
        limit = self._policies.current().max_queries_per_day
        if caller.role is Role.QUERY and limit is not None:
            now_ms = int(self._clock.now() * 1000)
            asked = self._ledger.read(limits.queries_in_day, caller.uri, now_ms)
            reply.queries_left = max(0, limit - asked)
        return reply

    def _sessions(self, caller: Identity) -> list[guardian_pb2.SessionStanding]:
        latest = self._ledger.read(sessions.summaries, caller.uri, SESSIONS)
        return [_session(found) for found in reversed(latest)]


def _unit(budget: Budget, *, whole_persons: bool) -> guardian_pb2.UnitStanding:
    return guardian_pb2.UnitStanding(
        group=budget.key.group,
        adjacency=budget.key.adjacency,
        epsilon=budget.epsilon,
        delta=budget.delta,
        order=sent_order(budget.order),
        epsilon_worst_case=_round_up(budget.epsilon_worst_case, budget.epsilon),
        epsilon_reserved=_round_up(budget.epsilon_reserved, budget.epsilon),
        state=budget.state,
        whole_persons=whole_persons,
    )


def _round_up(amount: float, budget: float) -> float:
    return math.ceil(amount / budget * STEPS) / STEPS * budget


def _session(session: SessionSummary) -> guardian_pb2.SessionStanding:
    return guardian_pb2.SessionStanding(
        session_id=session.session_id,
        state=session.state,
        queries=session.queries,
        asked=session.asked,
        answered=session.answered,
        opened_unix_s=session.opened_unix_s,
    )
