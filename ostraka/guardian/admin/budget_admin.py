"""Budgets: shown, set, lowered, raised with the owning party's agreement, frozen. Amounts are worst-case."""

from collections.abc import Iterator

import grpc

from ostraka.common.privacy import AMOUNT_UNIT, propose_order
from ostraka.common.privacy import epsilon as to_epsilon
from ostraka.guardian.admin import requests
from ostraka.guardian.admin.admin_base import AdminPart
from ostraka.guardian.admin.agreements import read_agreement
from ostraka.guardian.admin.pages import pages
from ostraka.guardian.ledger import Budget, BudgetTerms, UnitEvent, UnitKey
from ostraka.guardian.ledger.units import agreed_changes, balances, budgets, history
from ostraka.protos.ostraka.v1 import admin_pb2


class Budgets(AdminPart):
    """Shows and changes budgets."""

    def ListBudgets(
        self, request: admin_pb2.ListBudgetsRequest, context: grpc.ServicerContext
    ) -> Iterator[admin_pb2.Budget]:
        """Every unit's budget, or one party's."""
        party = requests.party_name(request.party) if request.party else None
        marked = self._unguaranteed(party)
        return (to_message(b, b.key in marked) for b in self._ledger.read(balances.all_budgets, party))

    def SetBudget(
        self, request: admin_pb2.SetBudgetRequest, context: grpc.ServicerContext
    ) -> admin_pb2.SetBudgetReply:
        """Set a unit's budget once, or lower it."""
        key, epsilon = (
            requests.unit_key(request.party, request.group, request.adjacency),
            requests.epsilon(request.epsilon),
        )
        delta, order = requests.delta(request.delta), requests.order(request.order)
        reason = requests.optional_reason(request.reason)
        budget = self._set_budget(key, epsilon, delta, order, reason=reason)
        return admin_pb2.SetBudgetReply(budget=self._shown(budget))

    def GrantBudget(
        self, request: admin_pb2.GrantBudgetRequest, context: grpc.ServicerContext
    ) -> admin_pb2.SetBudgetReply:
        """Raise a budget, or take new consent, as the owning party signed."""
        reason = requests.reason(request.reason)
        agreed = read_agreement(request.agreement, self._credentials, self._clock)
        key, signed = (
            requests.unit_key(agreed.site, agreed.group, agreed.adjacency),
            request.agreement.SerializeToString(deterministic=True),
        )
        if agreed.action == "raise":
            budget = self._ledger.write(
                agreed_changes.raise_budget,
                key,
                epsilon_before=agreed.epsilon_before,
                epsilon=agreed.epsilon,
                number=agreed.number,
                agreement=signed,
                reason=reason,
            )
        else:
            budget = self._ledger.write(
                agreed_changes.consent_again, key, number=agreed.number, agreement=signed, reason=reason
            )
        return admin_pb2.SetBudgetReply(budget=self._shown(budget))

    def FreezeBudget(
        self, request: admin_pb2.FreezeBudgetRequest, context: grpc.ServicerContext
    ) -> admin_pb2.SetBudgetReply:
        """Keep a unit from taking part in further batches, or let it again."""
        key, reason = (
            requests.unit_key(request.party, request.group, request.adjacency),
            requests.reason(request.reason),
        )
        budget = self._ledger.write(budgets.freeze, key, frozen=request.frozen, reason=reason)
        return admin_pb2.SetBudgetReply(budget=self._shown(budget))

    def BudgetHistory(
        self, request: admin_pb2.BudgetHistoryRequest, context: grpc.ServicerContext
    ) -> Iterator[admin_pb2.BudgetEvents]:
        """Everything that happened to a unit, oldest first."""
        key = requests.unit_key(request.party, request.group, request.adjacency)
        (budget,) = self._ledger.read(balances.budgets_of, [key])
        events = (_event(e, budget) for e in self._ledger.read(history.events_of, key))
        return (admin_pb2.BudgetEvents(rows=page) for page in pages(events))

    def _shown(self, budget: Budget) -> admin_pb2.Budget:
        """One budget with its mark."""
        return to_message(budget, budget.key in self._unguaranteed(budget.key.party))

    def _set_budget(
        self,
        key: UnitKey,
        epsilon: float,
        delta: float | None,
        order: float | None,
        *,
        level: str | None = None,
        reason: str,
    ) -> Budget:
        """Set or lower a budget; what is not said stays as the unit has it, or is the policy's."""
        kept, policy = self._ledger.read(balances.find_budgets, [key]).get(key), self._policies.current()
        if kept is not None:
            delta, order = delta or kept.delta, order or kept.order
        delta = delta or policy.delta
        order = order or propose_order(epsilon, delta)
        enforce = policy.enforce if kept is None else kept.enforce
        terms = BudgetTerms(epsilon, delta, order, enforce, level)
        return self._ledger.write(budgets.set_budget, key, terms, reason=reason)


def to_message(budget: Budget, unguaranteed: bool) -> admin_pb2.Budget:
    """Return a budget as administrators see it, marked where it does not tell everything."""
    return admin_pb2.Budget(
        party=budget.key.party,
        group=budget.key.group,
        adjacency=budget.key.adjacency,
        epsilon=budget.epsilon,
        delta=budget.delta,
        order=budget.order,
        enforce=budget.enforce,
        epsilon_worst_case=budget.epsilon_worst_case,
        epsilon_reserved=budget.epsilon_reserved,
        state=budget.state,
        level=budget.level or "",
        broken_unix_s=(budget.broken_unix_ms or 0) // 1000,
        epsilon_lifetime=budget.epsilon_lifetime,
        agreements=budget.agreements,
        unguaranteed=unguaranteed,
    )


def _event(event: UnitEvent, budget: Budget) -> admin_pb2.BudgetEvent:
    return admin_pb2.BudgetEvent(
        time_unix_ms=event.time_unix_ms,
        kind=event.kind,
        epsilon=event.epsilon,
        epsilon_worst_case=to_epsilon(event.spent * AMOUNT_UNIT, budget.order, budget.delta),
        session_id=event.session_id,
        batch_id=event.batch_id,
        reason=event.reason,
    )
