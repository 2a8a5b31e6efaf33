"""The guardian's admin service. Amounts shown are worst-case ones, which do not depend on votes."""

from collections.abc import Mapping

import grpc

from common.errors import ErrorCode, OstrakaError
from common.identity import Role
from common.privacy import ORDERS, propose_order
from guardian.ledger import Budget, Ledger, UnitKey
from guardian.policy import Policy
from protos.ostraka.v1 import admin_pb2, admin_pb2_grpc

ROLES: Mapping[str, frozenset[Role]] = {
    f"/ostraka.v1.Admin/{method}": frozenset({Role.ADMIN})
    for method in ("ListBudgets", "SetBudget", "ListSessions")
}


class AdminService(admin_pb2_grpc.AdminServicer):
    """Serves administrators; the role is checked before a method runs."""

    def __init__(self, ledger: Ledger, policy: Policy) -> None:
        """Take the ledger and the policy whose enforcement new budgets get."""
        self._ledger = ledger
        self._policy = policy

    def ListBudgets(  # noqa: N802
        self, request: admin_pb2.ListBudgetsRequest, context: grpc.ServicerContext
    ) -> admin_pb2.ListBudgetsReply:
        """Every unit's budget, or one party's."""
        budgets = self._ledger.budgets(request.party or None)
        return admin_pb2.ListBudgetsReply(budgets=[to_message(b) for b in budgets])

    def SetBudget(  # noqa: N802
        self, request: admin_pb2.SetBudgetRequest, context: grpc.ServicerContext
    ) -> admin_pb2.SetBudgetReply:
        """Set a unit's budget once, or lower it."""
        if not (request.party and request.group and request.epsilon > 0 and 0 < request.delta < 1):
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                "A budget needs a party, a group, epsilon above 0 and delta between 0 and 1.",
            )
        if request.adjacency not in {"record", "label"}:
            raise OstrakaError(ErrorCode.MESSAGE_INVALID, 'The adjacency must be "record" or "label".')
        if request.order and not ORDERS[0] <= request.order <= ORDERS[-1]:
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID, f"The order must lie between {ORDERS[0]} and {ORDERS[-1]:g}."
            )
        key = UnitKey(request.party, request.group, request.adjacency)
        kept = next((b.order for b in self._ledger.budgets(request.party) if b.key == key), None)
        order = request.order or kept or propose_order(request.epsilon, request.delta)
        budget = self._ledger.set_budget(
            *key,
            request.epsilon,
            request.delta,
            order,
            self._policy.enforce,
        )
        return admin_pb2.SetBudgetReply(budget=to_message(budget))

    def ListSessions(  # noqa: N802
        self, request: admin_pb2.ListSessionsRequest, context: grpc.ServicerContext
    ) -> admin_pb2.ListSessionsReply:
        """Every session with what was asked and answered."""
        return admin_pb2.ListSessionsReply(
            sessions=[
                admin_pb2.SessionSummary(
                    session_id=s.session_id,
                    querier=s.querier,
                    state=s.state,
                    queries=s.queries,
                    asked=s.asked,
                    answered=s.answered,
                    opened_unix_s=s.opened_unix_s,
                )
                for s in self._ledger.sessions()
            ]
        )


def to_message(budget: Budget) -> admin_pb2.Budget:
    """A budget as administrators see it."""
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
    )
