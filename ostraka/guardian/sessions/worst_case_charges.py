"""Worst-case charges of a released batch, and groups of units that cost the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostraka.common.plan.plan import Plan
from ostraka.common.privacy import Influence
from ostraka.guardian.ledger import Charge
from ostraka.guardian.sessions.payers import Payer, worst_cost


@dataclass(frozen=True)
class Alike:
    """Units to which a query on which they vote costs the same.

    Attributes:
        order: of their budgets.
        influence: what each changes in one query.
        enforce: which costs their budgets are held to.
        abstains: labels that cost none of them anything, by their place in the plan.
        payers: the units.
        queries: those (Q,) on which any of them votes.
    """

    order: float
    influence: Influence
    enforce: str
    abstains: tuple[int, ...]
    payers: tuple[Payer, ...]
    queries: NDArray[np.bool_] = field(repr=False)


def alike(payers: Iterable[Payer]) -> list[Alike]:
    """Group the payers of a batch by what decides their costs, so that each cost is computed once."""
    groups: dict[tuple[float, Influence, str, tuple[int, ...]], list[Payer]] = defaultdict(list)
    for payer in payers:
        kind = (payer.budget.order, payer.influence, payer.budget.enforce, payer.abstains)
        groups[kind].append(payer)
    return [
        Alike(*kind, tuple(group), np.any([payer.queries for payer in group], axis=0))
        for kind, group in groups.items()
    ]


def worst_charges(plan: Plan, payers: Iterable[Payer], answered: NDArray[np.bool_]) -> tuple[Charge, ...]:
    """Return each unit's cost of a batch with these `answered` (Q, answers), in the order of unit keys."""
    charges = []
    for group in alike(payers):
        cost = worst_cost(plan, group.order, group.influence, group.abstains)
        for payer in group.payers:
            amount = cost.amount(np.delete(answered[payer.queries], payer.abstains, axis=1))
            charges.append(Charge(payer.budget.key, worst_case=amount, data_dependent=amount))
    return tuple(sorted(charges, key=lambda charge: charge.unit))
