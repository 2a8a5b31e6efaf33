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


def filter_name(order: float) -> str:
    """Return the name of a budget's filter."""
    return FILTERS[order == GAUSSIAN]


def filter_text(order: float) -> str:
    """Return a budget's filter with its order, such as `renyi 8.5`, or `gaussian`, which has none."""
    return filter_name(order) if order == GAUSSIAN else f"{filter_name(order)} {order:g}"


def filter_option(order: float) -> str:
    """Return the option of a command that gives a budget this filter."""
    return f"--filter {filter_name(order)}" if order == GAUSSIAN else f"--order {order:g}"
