"""Privacy guarantees of an epsilon, and the filters that keep them, in words."""

from collections.abc import Mapping

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy.gaussian import GAUSSIAN

NOTIONS: Mapping[str, str] = {"record": "DP for records", "label": "label-DP"}
"""By the adjacency that was charged: a whole record may differ, or its label alone."""
NO_GUARANTEE = "no formal guarantee"
"""In place of either, where teachers learned together by ttac: an epsilon then counts labels and protects
nobody."""


def notion(adjacency: str) -> str:
    """Return what epsilons of an adjacency promise; raise `message.invalid` for one that there is not."""
    if adjacency not in NOTIONS:
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"Budgets and charges are of adjacency {' or '.join(NOTIONS)}, not '{adjacency}': use the same"
            " version everywhere.",
        )
    return NOTIONS[adjacency]


FILTERS = ("renyi", "gaussian")
"""Filters of budgets, by name."""


def sent_order(order: float) -> float:
    """Return a budget's order as messages have it: 0 for a Gaussian filter, which has none."""
    return 0.0 if order == GAUSSIAN else order


def received_order(sent: float) -> float:
    """Return the order that a message has, or `GAUSSIAN`."""
    return sent or GAUSSIAN


def order_or_none(order: float) -> float | None:
    """Return a budget's order, also one that was sent, as JSON has it: a Gaussian filter has none."""
    return None if order in {0, GAUSSIAN} else order


def order_or_name(order: float) -> float | str:
    """Return a budget's order as the audit log has it, or the name of a filter without one."""
    return order_or_none(order) or FILTERS[1]


def filter_name(order: float) -> str:
    """Return the name of a filter with this order, which may be a sent one."""
    return FILTERS[order_or_none(order) is None]


def filter_text(order: float | None) -> str:
    """Return a filter in words, such as `renyi 8.5`, or `gaussian` where JSON, too, has no order."""
    known = order_or_none(order or 0)
    return FILTERS[1] if known is None else f"{FILTERS[0]} {known:g}"


def filter_option(order: float | None) -> str:
    """Return the option of a command that gives a budget this filter."""
    known = order_or_none(order or 0)
    return f"--filter {FILTERS[1]}" if known is None else f"--order {known:g}"
