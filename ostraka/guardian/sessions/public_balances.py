"""What of a budget decides who votes, and how much a vote weighs: only what may be told to all parties."""

from __future__ import annotations

from ostraka.common.privacy import NO_LIMIT, budget_amount, budget_rdp
from ostraka.guardian.ledger import Budget

PARTS = 100
"""Parts of a budget that are told apart: exactly, what is left would tell how many queries were answered."""


def public_balance(budget: Budget) -> int:
    """Return what is left of a budget, in amounts, rounded up to whole hundredths of it.

    What is left of a data-dependent budget tells votes, so that all of it counts, whatever was spent.
    """
    if budget.enforce != "worst_case":
        return whole_budget(budget)
    return -(-budget.available * PARTS // max(1, budget.budget)) * budget.budget // PARTS


def whole_budget(budget: Budget) -> int:
    """Return a budget in amounts, before any of it was spent."""
    return budget_amount(budget_rdp(budget.epsilon, budget.delta, budget.order))


def is_unlimited(budget: Budget) -> bool:
    """Whether a budget is so large that its records count as public."""
    return budget.epsilon >= NO_LIMIT
