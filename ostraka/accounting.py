"""Accounting for one's own votes: what releases cost, as the guardian's ledger counts it."""

from ostraka.common.mechanism import BOUND
from ostraka.common.privacy import ORDERS, Influence, budget_rdp, epsilon, propose_order
from ostraka.guardian.accountant import Accountant

__all__ = ["BOUND", "ORDERS", "Accountant", "Influence", "budget_rdp", "epsilon", "propose_order"]
