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


def order_or_none(order: float) -> float | None:
    """Return a budget's order as JSON has it: a Gaussian filter has none."""
    return None if order == GAUSSIAN else order


def order_or_name(order: float) -> float | str:
    """Return a budget's order as the audit log has it, or the name of a filter without one."""
    return filter_name(order) if order == GAUSSIAN else order


def filter_text(order: float | None) -> str:
    """Return a budget's filter in words, such as `renyi 8.5`, or `gaussian`; JSON's None is that, too."""
    return "gaussian" if order in {None, GAUSSIAN} else f"renyi {order:g}"


def filter_option(order: float | None) -> str:
    """Return the option of a command that gives a budget this filter."""
    return "--filter gaussian" if order in {None, GAUSSIAN} else f"--order {order:g}"
