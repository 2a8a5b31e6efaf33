"""Worst-case budgets of units: show, set, lower, raise by agreement, freeze; and consent of groups."""

import math
from collections.abc import Iterator
from functools import cache

import grpc
from google.protobuf.message import DecodeError

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Role, verify_signed
from ostraka.common.privacy import AMOUNT_UNIT, propose_order
from ostraka.common.privacy import epsilon as to_epsilon
from ostraka.common.privacy.filters import filter_name, sent_order
from ostraka.common.wire.contexts import AGREEMENT_CONTEXT
from ostraka.guardian.admin import requests
from ostraka.guardian.admin.admin_base import AdminPart
from ostraka.guardian.admin.exports import pages
from ostraka.guardian.ledger import Budget, BudgetTerms, UnitEvent, UnitKey
from ostraka.guardian.ledger.members import manifests, policies
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.units import balances, budgets, history
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2


class Budgets(AdminPart):
    """Shows and changes budgets."""

    def ListBudgets(
        self, request: admin_pb2.ListBudgetsRequest, context: grpc.ServicerContext
    ) -> Iterator[admin_pb2.Budget]:
        """Every unit's budget, or one party's."""
        party = requests.party_name(request.party) if request.party else None
        marked = self._find_unguaranteed(party)
        whole = self._ledger.read(manifests.always_whole, None if party is None else [party])
        return (
            to_message(b, unguaranteed=b.key in marked, whole_persons=b.key.party in whole)
            for b in self._ledger.read(balances.all_budgets, party)
        )

    def SetBudget(
        self, request: admin_pb2.SetBudgetRequest, context: grpc.ServicerContext
    ) -> admin_pb2.SetBudgetReply:
        """Set a unit's budget for the first time, or lower it."""
        key = requests.unit_key(request.party, request.group, request.adjacency)
        epsilon = requests.epsilon(request.epsilon)
        delta = requests.delta(request.delta)
        order = requests.order(request.order, request.filter)
        reason = requests.optional_reason(request.reason)
        budget = self._write(
            context, self._set_budget, key, epsilon, delta, order, named=request.filter, reason=reason
        )
        return admin_pb2.SetBudgetReply(budget=self._budget_message(budget))

    def GrantBudget(
        self, request: admin_pb2.GrantBudgetRequest, context: grpc.ServicerContext
    ) -> admin_pb2.SetBudgetReply:
        """Raise a budget, or record new consent, as the owning party signed."""
        reason = requests.reason(request.reason)
        agreed = read_agreement(request.agreement, self._credentials, self._clock)
        key = requests.unit_key(agreed.site, agreed.group, agreed.adjacency)
        signed = request.agreement.SerializeToString(deterministic=True)
        if agreed.action == "raise":
            budget = self._write(
                context,
                budgets.raise_budget,
                key,
                epsilon_before=agreed.epsilon_before,
                epsilon=agreed.epsilon,
                number=agreed.number,
                agreement=signed,
                reason=reason,
            )
        else:
            budget = self._write(
                context, budgets.consent_again, key, number=agreed.number, agreement=signed, reason=reason
            )
        return admin_pb2.SetBudgetReply(budget=self._budget_message(budget))

    def FreezeBudget(
        self, request: admin_pb2.FreezeBudgetRequest, context: grpc.ServicerContext
    ) -> admin_pb2.SetBudgetReply:
        """Exclude a unit from further batches, or admit it again."""
        key = requests.unit_key(request.party, request.group, request.adjacency)
        reason = requests.reason(request.reason)
        budget = self._write(context, budgets.freeze, key, frozen=request.frozen, reason=reason)
        return admin_pb2.SetBudgetReply(budget=self._budget_message(budget))

    def BudgetHistory(
        self, request: admin_pb2.BudgetHistoryRequest, context: grpc.ServicerContext
    ) -> Iterator[admin_pb2.BudgetEvents]:
        """Everything that happened to a unit, oldest first."""
        key = requests.unit_key(request.party, request.group, request.adjacency)
        (budget,) = self._ledger.read(balances.budgets_of, [key])
        released = cache(lambda session_id: self._terms(session_id).released if session_id else "")
        events = (
            _event(e, budget, released(e.session_id)) for e in self._ledger.read(history.events_of, key)
        )
        return (admin_pb2.BudgetEvents(rows=page) for page in pages(events))

    def _budget_message(self, budget: Budget) -> admin_pb2.Budget:
        party = budget.key.party
        return to_message(
            budget,
            unguaranteed=budget.key in self._find_unguaranteed(party),
            whole_persons=party in self._ledger.read(manifests.always_whole, [party]),
        )

    def _set_budget(
        self,
        tx: Transaction,
        key: UnitKey,
        epsilon: float,
        delta: float | None,
        order: float | None,
        *,
        level: str | None = None,
        named: str,
        reason: str,
    ) -> Budget:
        """Set or lower a budget; a value not given stays as the unit has it, or comes from the policy.

        Unit and policy are read in the transaction that writes, so concurrent changes are taken into account.
        """
        policy = self._policies.of(policies.in_force(tx))
        kept = balances.find_budgets(tx, [key]).get(key)
        if delta is None:
            delta = policy.delta if kept is None else kept.delta
        if order is None:
            keeps = kept is not None and named in {"", filter_name(kept.order)}
            order = kept.order if kept is not None and keeps else propose_order(epsilon, delta)
        enforce = policy.enforce if kept is None else kept.enforce
        terms = BudgetTerms(epsilon, delta, order, enforce, level)
        return budgets.set_budget(tx, key, terms, reason=reason)


def to_message(budget: Budget, *, unguaranteed: bool, whole_persons: bool) -> admin_pb2.Budget:
    """Return a budget as administrators see it, marked if it does not cover everything that was released."""
    return admin_pb2.Budget(
        party=budget.key.party,
        group=budget.key.group,
        adjacency=budget.key.adjacency,
        epsilon=budget.epsilon,
        delta=budget.delta,
        order=sent_order(budget.order),
        enforce=budget.enforce,
        epsilon_worst_case=budget.epsilon_worst_case,
        epsilon_reserved=budget.epsilon_reserved,
        state=budget.state,
        level=budget.level or "",
        broken_unix_s=(budget.broken_unix_ms or 0) // 1000,
        epsilon_lifetime=budget.epsilon_lifetime,
        agreements=budget.agreements,
        unguaranteed=unguaranteed,
        filter=filter_name(budget.order),
        whole_persons=whole_persons,
    )


def _event(event: UnitEvent, budget: Budget, released: str) -> admin_pb2.BudgetEvent:
    return admin_pb2.BudgetEvent(
        time_unix_ms=event.time_unix_ms,
        kind=event.kind,
        epsilon=event.epsilon,
        epsilon_worst_case=to_epsilon(event.spent * AMOUNT_UNIT, budget.order, budget.delta),
        session_id=event.session_id,
        batch_id=event.batch_id,
        reason=event.reason,
        released=released,
    )


def read_agreement(signed: common_pb2.Signed, credentials: Credentials, clock: Clock) -> common_pb2.Agreement:
    """Return the agreement that a party of the guardian's federation signed about its own records.

    The ledger checks whether it fits the unit's current state (its number, the epsilon before).

    Raises:
        OstrakaError: `agreement.invalid` for a signature that does not verify, for another site's records, or
            for contents out of range; identity.* for a certificate that is not valid now.
    """
    signer = verify_signed(
        signed,
        AGREEMENT_CONTEXT,
        ca_pem=credentials.ca_pem,
        clock=clock,
        federation=credentials.identity.federation,
        role=Role.PARTY,
        invalid=ErrorCode.AGREEMENT_INVALID,
        revocations=credentials.revocations,
    )
    try:
        agreed = common_pb2.Agreement.FromString(signed.payload)
    except DecodeError:
        raise _invalid("cannot be read") from None
    problem = _problem(agreed, signer.site)
    if problem is not None:
        raise _invalid(problem)
    return agreed


def _problem(agreed: common_pb2.Agreement, signer: str) -> str | None:
    if agreed.site != signer:
        return f"is about records of {agreed.site!r} but signed by {signer}"
    if agreed.action not in {"raise", "consent"}:
        return f"is to {agreed.action!r}, which is neither raise nor consent"
    if agreed.action == "raise" and not 0 < agreed.epsilon_before < agreed.epsilon < math.inf:
        return f"does not raise: epsilon {agreed.epsilon_before:g} to {agreed.epsilon:g}"
    return None


def _invalid(problem: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.AGREEMENT_INVALID,
        f"The agreement {problem}; have the party sign it again with `ostraka party sign-raise` or"
        " `sign-consent`.",
    )


class Consent(Budgets):
    """Gives groups the budget of their consent level, and withdraws it."""

    def SetConsent(
        self, request: admin_pb2.SetConsentRequest, context: grpc.ServicerContext
    ) -> admin_pb2.SetBudgetReply:
        """Set or lower a group's budget to the epsilon of a consent level."""
        key = requests.unit_key(request.party, request.group, request.adjacency)
        order = requests.order(request.order, request.filter)
        reason = requests.optional_reason(request.reason)
        budget = self._write(
            context, self._set_level, key, request.level, order, named=request.filter, reason=reason
        )
        return admin_pb2.SetBudgetReply(budget=self._budget_message(budget))

    def _set_level(
        self, tx: Transaction, key: UnitKey, level: str, order: float | None, *, named: str, reason: str
    ) -> Budget:
        epsilon = self._policies.of(policies.in_force(tx)).epsilon_of(level)
        kept = balances.find_budgets(tx, [key]).get(key)
        if kept is not None and kept.state == "withdrawn":
            raise _withdrawal_error(key)
        return self._set_budget(tx, key, epsilon, None, order, level=level, named=named, reason=reason)

    def WithdrawConsent(
        self, request: admin_pb2.WithdrawConsentRequest, context: grpc.ServicerContext
    ) -> admin_pb2.SetBudgetReply:
        """End a group's participation from the next batch on."""
        key = requests.unit_key(request.party, request.group, request.adjacency)
        budget = self._write(context, budgets.withdraw, key, reason=requests.reason(request.reason))
        return admin_pb2.SetBudgetReply(budget=self._budget_message(budget))


def _withdrawal_error(key: UnitKey) -> OstrakaError:
    return OstrakaError(
        ErrorCode.AGREEMENT_INVALID,
        f"Consent for {key} was withdrawn, and only its party's signature brings it back; the party"
        " signs with `ostraka party sign-consent`, then run `ostraka guardian budget grant`.",
    )
