"""What a released batch costs each unit: the queries on which its clique voted, each computed once."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from common.mechanism import BOUND
from common.plan import Plan
from common.privacy import Influence, amount
from guardian.accounting import Tally, charges, largest_charges
from guardian.ledger import Charge
from guardian.noise import LATTICE
from guardian.sessions.payers import Payer, worst_cost

_Floats = NDArray[np.float64]


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

    @property
    def evaluations(self) -> int:
        """How often `charge_alike` computes the bound."""
        return 3 if self.enforce == "data_dependent" else 1


def alike(payers: Iterable[Payer]) -> list[Alike]:
    """The payers of a batch by what decides their costs, so that it is computed once."""
    groups: dict[tuple[float, Influence, str, tuple[int, ...]], list[Payer]] = defaultdict(list)
    for payer in payers:
        kind = (payer.budget.order, payer.influence, payer.budget.enforce, payer.abstains)
        groups[kind].append(payer)
    return [
        Alike(*kind, tuple(group), np.any([payer.queries for payer in group], axis=0))
        for kind, group in groups.items()
    ]


def charge_alike(plan: Plan, released: Tally, group: Alike, bound: BOUND) -> list[Charge]:
    """What each unit of `group` pays for a batch, and for what other answers it had to have room."""
    own = released.rows(group.queries).without(group.abstains)
    spent = charges(own, group.order, bound, group.influence, lattice=LATTICE)
    most = None
    if group.enforce == "data_dependent":
        most = largest_charges(own, group.order, bound, group.influence, lattice=LATTICE)
    cost = worst_cost(plan, group.order, group.influence, group.abstains)
    result = []
    for payer in group.payers:
        rows = payer.queries[group.queries]
        answered = own.answered[rows]
        reserved = cost.reservation(*answered.shape)
        result.append(
            Charge(
                payer.budget.key,
                worst_case=cost.amount(answered),
                data_dependent=min(reserved, _amount(plan, spent, rows)),
                at_most=0 if most is None else min(reserved, _amount(plan, most, rows)),
            )
        )
    return result


def worst_charges(plan: Plan, payers: Iterable[Payer], answered: NDArray[np.bool_]) -> list[Charge]:
    """What a batch whose `answered` (Q, answers) were given costs each unit, whatever the votes."""
    charges = []
    for payer in payers:
        own = np.delete(answered[payer.queries], payer.abstains, axis=1)
        cost = worst_cost(plan, payer.budget.order, payer.influence, payer.abstains).amount(own)
        charges.append(Charge(payer.budget.key, worst_case=cost, data_dependent=cost))
    return charges


def _amount(plan: Plan, each: _Floats, rows: NDArray[np.bool_]) -> int:
    """The amount of those queries (Q,); records that vote cost as a batch (1,), on all of which all may."""
    own = each if plan.mechanism.by_record else each[rows]
    return amount(math.fsum(own.tolist()))
