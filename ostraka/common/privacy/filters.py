"""Privacy filters that enforce budgets, each encoded as an order, and their names."""

import math

GAUSSIAN = math.inf
"""The order that stands for the Gaussian filter.

No Renyi filter has it. A version without Gaussian filters refuses it wherever something is charged or
converted.
"""
FILTERS = ("renyi", "gaussian")
"""Names of the filters of budgets."""


def holds_at(charged: float, order: float) -> bool:
    """Whether a cost charged at one order is an upper bound on the cost at another.

    Renyi divergence grows with its order. Nothing follows between a Renyi and a Gaussian filter.
    """
    return charged == order or (order < charged and charged != GAUSSIAN)


def sent_order(order: float) -> float:
    """Return a budget's order as in messages and JSON: 0 for a Gaussian filter."""
    return 0.0 if order == GAUSSIAN else order


def received_order(sent: float) -> float:
    """Return the order in a message, or `GAUSSIAN` for 0."""
    return sent or GAUSSIAN


def order_or_name(order: float) -> float | str:
    """Return a budget's order as in the audit log: the order, or the name of a filter without one."""
    return sent_order(order) or FILTERS[1]


def filter_name(order: float) -> str:
    """Return the name of the filter with this order, which may be a sent one."""
    return FILTERS[not sent_order(order)]


def filter_text(order: float) -> str:
    """Return the text of a filter, such as `renyi 8.5` or `gaussian`; its order may be a sent one."""
    known = sent_order(order)
    return f"{FILTERS[0]} {known:g}" if known else FILTERS[1]


def filter_option(order: float) -> str:
    """Return the command option that gives a budget this filter; its order may be a sent one."""
    known = sent_order(order)
    return f"--order {known:g}" if known else f"--filter {FILTERS[1]}"
