"""Privacy filters that enforce budgets, each encoded by an order, and named in words."""

import math

GAUSSIAN = math.inf
"""What stands for the Gaussian filter where a Renyi filter has its order: no order of one, so that a version
that knows no Gaussian filter refuses it wherever something is charged or converted."""
FILTERS = ("renyi", "gaussian")
"""Filters of budgets, by name."""


def holds_at(charged: float, order: float) -> bool:
    """Whether what was charged at one order is no less than what it costs at another.

    Renyi divergence grows with its order. From one filter to the other nothing follows.
    """
    return charged == order or (order < charged and charged != GAUSSIAN)


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
