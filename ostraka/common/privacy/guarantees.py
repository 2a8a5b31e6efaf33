"""Privacy guarantees of an epsilon, and the filters that keep them, in words."""

from collections.abc import Mapping
from typing import Literal

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy.gaussian import GAUSSIAN

NOTIONS: Mapping[str, str] = {"record": "DP for records", "label": "label-DP"}
"""By the adjacency that was charged: a whole record may differ, or its label alone."""
BOUND = Literal["worst_case", "theorem6", "exact"]
"""How the cost of a release is computed (docs/accounting.md)."""
DELTA = 1e-5
"""That of Papernot et al. 2018 for some 10^4 records (MNIST, Adult): less than one in their number."""
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
    """Return a budget's order as messages and JSON have it: 0 for a Gaussian filter, which has none."""
    return 0.0 if order == GAUSSIAN else order


def received_order(sent: float) -> float:
    """Return the order that a message has, or `GAUSSIAN`."""
    return sent or GAUSSIAN


def order_or_name(order: float) -> float | str:
    """Return a budget's order as the audit log has it, or the name of a filter without one."""
    return sent_order(order) or FILTERS[1]


def filter_name(order: float) -> str:
    """Return the name of a filter with this order, which may be a sent one."""
    return FILTERS[not sent_order(order)]


def filter_text(order: float) -> str:
    """Return a filter, whose order may be a sent one, in words, such as `renyi 8.5` or `gaussian`."""
    known = sent_order(order)
    return f"{FILTERS[0]} {known:g}" if known else FILTERS[1]


def filter_option(order: float) -> str:
    """Return the option of a command that gives a budget this filter, whose order may be a sent one."""
    known = sent_order(order)
    return f"--order {known:g}" if known else f"--filter {FILTERS[1]}"
