"""Remaining budget of a unit."""

from ostraka.protos.ostraka.v1 import admin_pb2


def left(budget: admin_pb2.Budget) -> float | None:
    """Return what is left of a budget in the worst case; None where that depends on votes."""
    if budget.enforce != "worst_case":
        return None
    return max(0.0, budget.epsilon - budget.epsilon_worst_case - budget.epsilon_reserved)
