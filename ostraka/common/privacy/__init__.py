"""Worst-case costs, conversion to epsilon, and the integer amounts of the ledger.

Everything here is a function of public plans alone and never of votes (docs/accounting.md).
"""

from ostraka.common.privacy.conversion import (
    FEW_ORDERS,
    NO_LIMIT,
    ORDERS,
    budget_rdp,
    epsilon,
    epsilon_by_answers,
    proportions,
    propose_order,
)
from ostraka.common.privacy.inputs import InputError
from ostraka.common.privacy.worst_case import (
    AMOUNT_UNIT,
    ONE_VOTE,
    Influence,
    WorstCase,
    amount,
    budget_amount,
    pure_rdp,
)

__all__ = [
    "AMOUNT_UNIT",
    "FEW_ORDERS",
    "NO_LIMIT",
    "ONE_VOTE",
    "ORDERS",
    "Influence",
    "InputError",
    "WorstCase",
    "amount",
    "budget_amount",
    "budget_rdp",
    "epsilon",
    "epsilon_by_answers",
    "proportions",
    "propose_order",
    "pure_rdp",
]
