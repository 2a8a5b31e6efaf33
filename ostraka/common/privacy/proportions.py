"""Proportions of influence under which budgets that differ are used up together."""

import math
from collections.abc import Mapping
from functools import lru_cache

from ostraka.common.privacy.conversion import budget_rdp, propose_order

NO_LIMIT = 1000.0
"""Epsilon from which on a budget promises nothing, so that its records count as public."""


def proportions(epsilons: Mapping[str, float], delta: float) -> dict[str, float]:
    """Return how many times as much as one of the least budget a record of each budget may change in a query.

    Own derivation: the cost of a query grows with the square of what a record changes, so that is in
    proportion to the square root of the queries that a budget pays for. Costs are taken as Gaussian ones,
    whose number is in proportion to budget over order, whatever the mechanism (docs/budgets.md). A budget
    without a limit counts as the largest that has one, and 1 where none has.

    Raises `budget.too_small` for an epsilon that pays for no query at any order.
    """
    limited = {name: _root(each, delta) for name, each in epsilons.items() if each < NO_LIMIT}
    least = min(limited.values(), default=1.0)
    most = max(limited.values(), default=1.0)
    return {name: limited.get(name, most) / least for name in epsilons}


@lru_cache
def _root(epsilon: float, delta: float) -> float:
    order = propose_order(epsilon, delta)
    return math.sqrt(budget_rdp(epsilon, delta, order) / order)
