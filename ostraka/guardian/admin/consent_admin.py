"""Consent: which level of the policy a group's records have, until it is withdrawn."""

import grpc

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.admin import requests
from ostraka.guardian.admin.budget_admin import Budgets
from ostraka.guardian.ledger import UnitKey
from ostraka.guardian.ledger.units import balances, budgets
from ostraka.protos.ostraka.v1 import admin_pb2


class Consent(Budgets):
    """Gives groups the budget of their consent level, and takes it away."""

    def SetConsent(
        self, request: admin_pb2.SetConsentRequest, context: grpc.ServicerContext
    ) -> admin_pb2.SetBudgetReply:
        """Set or lower a group's budget to the epsilon of a consent level."""
        key = requests.unit_key(request.party, request.group, request.adjacency)
        order, reason = requests.order(request.order), requests.optional_reason(request.reason)
        epsilon = self._policies.current().epsilon_of(request.level)
        kept = self._ledger.read(balances.find_budgets, [key]).get(key)
        if kept is not None and kept.state == "withdrawn":
            raise _withdrawn(key)
        budget = self._set_budget(key, epsilon, None, order, level=request.level, reason=reason)
        return admin_pb2.SetBudgetReply(budget=self._shown(budget))

    def WithdrawConsent(
        self, request: admin_pb2.WithdrawConsentRequest, context: grpc.ServicerContext
    ) -> admin_pb2.SetBudgetReply:
        """End a group's participation from the next batch on."""
        key = requests.unit_key(request.party, request.group, request.adjacency)
        budget = self._ledger.write(budgets.withdraw, key, reason=requests.reason(request.reason))
        return admin_pb2.SetBudgetReply(budget=self._shown(budget))


def _withdrawn(key: UnitKey) -> OstrakaError:
    return OstrakaError(
        ErrorCode.AGREEMENT_INVALID,
        f"Consent for {key} was withdrawn, and only its party's signature brings it back; the party"
        " signs with `ostraka party sign-consent`, then run `ostraka guardian budget grant`.",
    )
