"""Units as people read them: their name, and what is left of their budget."""

from typing import Any

from ostraka.common.privacy.guarantees import notion
from ostraka.protos.ostraka.v1 import admin_pb2


def unit_text(named: Any) -> str:
    """Return the name of a unit, of its budget or its charge, and what its epsilons promise."""
    return f"{named.party}/{named.group} ({notion(named.adjacency)})"


def left(budget: admin_pb2.Budget) -> float | None:
    """Return what is left of a budget in the worst case; None where that depends on votes."""
    if budget.enforce != "worst_case":
        return None
    return max(0.0, budget.epsilon - budget.epsilon_worst_case - budget.epsilon_reserved)


def left_text(budget: admin_pb2.Budget) -> str:
    """Return the same for people to read."""
    amount = left(budget)
    return "depends on votes, not shown" if amount is None else f"{amount:.4f}"
