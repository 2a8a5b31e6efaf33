"""Worst-case costs, conversion to epsilon, and the integer amounts of the ledger.

Everything here depends only on public plans, never on votes (docs/accounting.md).
"""

from typing import TYPE_CHECKING

from ostraka.common.imports import lazy_names

if TYPE_CHECKING:
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

__getattr__ = lazy_names(
    __name__,
    {
        "AMOUNT_UNIT": "worst_case",
        "FEW_ORDERS": "conversion",
        "Influence": "worst_case",
        "InputError": "inputs",
        "NO_LIMIT": "conversion",
        "ONE_VOTE": "worst_case",
        "ORDERS": "conversion",
        "WorstCase": "worst_case",
        "amount": "worst_case",
        "budget_amount": "worst_case",
        "budget_rdp": "conversion",
        "epsilon": "conversion",
        "epsilon_by_answers": "conversion",
        "proportions": "conversion",
        "propose_order": "conversion",
        "pure_rdp": "worst_case",
    },
)
