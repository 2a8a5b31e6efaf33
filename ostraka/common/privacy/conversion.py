"""Conversion of a filter's total to epsilon, of budgets to filter limits, and of budgets to proportions."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy.filters import GAUSSIAN
from ostraka.common.privacy.gaussian import gaussian_budget, gaussian_epsilon
from ostraka.common.privacy.inputs import InputError

ORDERS: tuple[float, ...] = (
    *(half / 2 for half in range(3, 129)),
    *(64 * 2 ** (step / 8) for step in range(1, 33)),
)
"""Renyi orders that a budget may have: half-integers from 1.5 to 64, then geometric to 1024."""


def _thin(orders: Sequence[float], growth: float) -> Iterator[float]:
    """Yield the first order, and each order whose distance from 1 has grown by this factor since the last."""
    last = 1.0
    for order in orders:
        if order - 1 >= growth * (last - 1):
            last = order
            yield order


FEW_ORDERS = tuple(_thin(ORDERS, 1.12))
"""A subset of the orders that is nearly as good for an epsilon.

For Gaussian costs, the best of these 44 gives an epsilon at most 0.5% above that of the best of all. Every
fourth order, 40 of them, would give 0.7% more at epsilon 5 and 12% more at 19.
"""

NEAR = 8
"""Number of floats below the first guess that are tried one by one."""
_PROBE_RDP = 64.0
"""An rdp with an epsilon above 0 at every order and delta: no conversion subtracts more than 2."""


def epsilon(rdp: float | Sequence[float], orders: float | Sequence[float], delta: float) -> float:
    """Return the least epsilon that `rdp` at `orders` (same length) implies at `delta`.

    With several orders, the best may be chosen for free if the costs were fixed before any answer was seen.
    The conversion is Canonne, Kamath and Steinke 2020, Proposition 12, from dp_accounting. A single order of
    `GAUSSIAN` converts the total of a Gaussian filter exactly. Raises InputError for negative or NaN rdp, for
    other orders not above 1, or for a delta outside (0, 1).
    """
    if orders == GAUSSIAN and isinstance(rdp, int | float):
        return gaussian_epsilon(float(rdp), delta)
    from dp_accounting.rdp import compute_epsilon

    costs = [float(rdp)] if isinstance(rdp, int | float) else [float(value) for value in rdp]
    at = [float(orders)] if isinstance(orders, int | float) else [float(value) for value in orders]
    if not 0 < delta < 1:
        raise InputError("delta", f"must lie between 0 and 1, is {delta}")
    if len(costs) != len(at) or not costs:
        raise InputError("rdp", f"has {len(costs)} values for {len(at)} orders")
    for index, (cost, order) in enumerate(zip(costs, at, strict=True)):
        if not cost >= 0:
            raise InputError("rdp", f"must be 0 or more, is {cost}", (index,))
        if not 1 < order < math.inf:
            raise InputError("orders", f"must be a finite number above 1, is {order}", (index,))
    return float(compute_epsilon(at, costs, delta)[0])


def epsilon_by_answers(charged: Sequence[float], orders: Sequence[float], delta: float) -> float:
    """Return an epsilon for charges that depended on answers, at the best order; the choice is paid in delta.

    `charged` is the total charged at each order, with every charge based on the actual answer. Each of the m
    orders, which are fixed before the first answer, gets delta / m. The figure depends on the answers;
    docs/accounting.md ("Costs that follow answers") proves what it promises.
    """
    share = delta / len(orders)
    return max(
        0.0, min(cost + _conversion_term(order, share) for cost, order in zip(charged, orders, strict=True))
    )


def _conversion_term(order: float, delta: float) -> float:
    """Return what Canonne, Kamath and Steinke 2020, Proposition 12, add to an rdp at this order."""
    return math.log1p(-1 / order) - math.log(order * delta) / (order - 1)


def budget_rdp(epsilon_budget: float, delta: float, order: float) -> float:
    """Return the largest rdp at `order` whose epsilon at `delta` is at most `epsilon_budget`.

    The conversion adds a constant to the rdp, which is found from `epsilon` at one large rdp. The result is
    0.0 if nothing fits. An rdp of at most about delta^2, whose epsilon is 0 at any order, may be larger than
    the result; it is not searched for, because no query costs so little. At `GAUSSIAN` the result is the
    limit of a Gaussian filter. Raises InputError for an epsilon that is not positive.
    """
    if order == GAUSSIAN:
        return gaussian_budget(epsilon_budget, delta)
    if not 0 < epsilon_budget < math.inf:
        raise InputError("epsilon", f"must be a finite number above 0, is {epsilon_budget}")
    rdp = epsilon_budget - (epsilon(_PROBE_RDP, order, delta) - _PROBE_RDP)
    # One of the next floats fits, unless the budget is hardly above the constant of the conversion.
    for _ in range(NEAR):
        if rdp <= 0 or epsilon(rdp, order, delta) <= epsilon_budget:
            return max(rdp, 0.0)
        rdp = math.nextafter(rdp, 0.0)
    return _largest_below(rdp, lambda cost: epsilon(cost, order, delta) <= epsilon_budget)


def _largest_below(limit: float, fits: Callable[[float], bool]) -> float:
    """Return the largest number below `limit` (which does not fit) that fits; 0 if there is none.

    If a budget is hardly above the constant of its conversion, nearly all digits of the difference are lost,
    and the largest number that fits may be millions of floats away.
    """
    low = limit
    high = limit
    step = math.ulp(limit)
    # Steps double, because the number that fits may be millions of steps away.
    while low > 0 and not fits(low):
        high = low
        low -= step
        step *= 2
    low = max(low, 0.0)
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def propose_order(epsilon_budget: float, delta: float) -> float:
    """Return the order at which (epsilon, delta) buys the most queries of a Gaussian-like cost.

    Such a cost is proportional to the order, so this maximises budget over order among ORDERS. Raises
    `budget.too_small` if no order leaves anything to spend.
    """
    best = _best_order(epsilon_budget, delta)
    if budget_rdp(epsilon_budget, delta, best) <= 0:
        raise OstrakaError(
            ErrorCode.BUDGET_TOO_SMALL,
            f"A budget of epsilon {epsilon_budget} at delta {delta} pays for no query at any order; "
            "set a larger epsilon or a larger delta.",
        )
    return best


@lru_cache(1024)
def _best_order(epsilon_budget: float, delta: float) -> float:
    return max(ORDERS, key=lambda order: budget_rdp(epsilon_budget, delta, order) / order)


NO_LIMIT = 1000.0
"""Epsilon from which on a budget promises nothing, so its records count as public."""


def proportions(epsilons: Mapping[str, float], delta: float) -> dict[str, float]:
    """Return by what factor a record of each budget may change more in a query than one of the least budget.

    Own derivation: the cost of a query grows with the square of what a record changes, so the allowed change
    is proportional to the square root of the number of queries that a budget pays for. Costs are taken as
    Gaussian, whatever the mechanism; their number is proportional to budget over order (docs/budgets.md). A
    budget without a limit gets the proportion of the largest limited budget, or 1 if none is limited.

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
