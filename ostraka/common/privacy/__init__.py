"""Worst-case costs, conversion to epsilon, and the integer amounts of the ledger.

Everything here is a function of public plans alone and never of votes (docs/accounting.md).
"""

from ostraka.common.privacy.amounts import AMOUNT_UNIT, amount, budget_amount
from ostraka.common.privacy.conversion import (
    ORDERS,
    budget_rdp,
    epsilon,
    epsilon_by_answers,
    propose_order,
)
from ostraka.common.privacy.influence import ONE_VOTE, Influence
from ostraka.common.privacy.inputs import InputError
from ostraka.common.privacy.proportions import NO_LIMIT, proportions
from ostraka.common.privacy.worst_case import WorstCase, pure_rdp

__all__ = [
    "AMOUNT_UNIT",
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
