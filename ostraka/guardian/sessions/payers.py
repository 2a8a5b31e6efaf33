"""Payers of a batch: units, their influence and queries, and their worst-case cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostraka.common.plan.plan import Plan
from ostraka.common.privacy import Influence, WorstCase
from ostraka.guardian.ledger import Budget, Charge, UnitKey
from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.units import balances
from ostraka.guardian.sessions.cohorts import Attendance, Cohort


@dataclass(frozen=True)
class Payer:
    """A unit that pays for its cohort's votes.

    Attributes:
        budget: the unit's.
        influence: what it changes in one query.
        queries: the queries (Q,) on which its cohort votes.
        abstains: labels on which its cohort does not vote and which cost it nothing, as `Cohort.abstains`.
    """

    budget: Budget
    influence: Influence
    queries: NDArray[np.bool_] = field(repr=False)
    abstains: tuple[int, ...] = ()


def payers(plan: Plan, attendance: Attendance, budgets: Mapping[UnitKey, Budget]) -> list[Payer]:
    """Return the payers of a batch, in unit order: units with a budget whose cohort votes on some query."""
    found = [
        Payer(budgets[key], influence, queries, cohort.abstains)
        for cohort, queries in zip(attendance.cohorts, attendance.present, strict=True)
        for key, influence in cohort.payers(plan.adjacency).items()
        if key in budgets and queries.any()
    ]
    return sorted(found, key=lambda payer: payer.budget.key)


def budgets_of(view: View, plan: Plan, cohorts: Iterable[Cohort]) -> dict[UnitKey, Budget]:
    """Return the budgets that votes of `cohorts` are charged to.

    Raises:
        OstrakaError: `budget.missing` for a unit without one under the plan's adjacency; a label budget that
            is not set pays nothing for records.
    """
    chosen = list(cohorts)
    charged = {key for cohort in chosen for key in cohort.units(plan.adjacency)}
    others = [key for cohort in chosen for key in cohort.payers(plan.adjacency) if key not in charged]
    budgets = {budget.key: budget for budget in balances.budgets_of(view, charged)}
    return budgets | balances.find_budgets(view, others)


def worst_cost(plan: Plan, order: float, influence: Influence, abstains: Collection[int] = ()) -> WorstCase:
    """Return a `plan` batch's worst cost to a unit that abstains from some labels, at its budget's order."""
    voted = plan.classes - len(abstains)
    return plan.mechanism.worst_case(order, influence.sensitivity, classes=voted)


def most_answers(plan: Plan, abstains: Collection[int] = ()) -> int:
    """Count the answers to one query that have a cost for a unit that abstains from some labels."""
    return plan.mechanism.answers(plan.classes - len(abstains))


def reservation(plan: Plan, payer: Payer) -> int:
    """Return the most a unit pays for a batch, in amounts: all queries its cohort votes on are answered."""
    cost = worst_cost(plan, payer.budget.order, payer.influence, payer.abstains)
    return cost.reservation(int(payer.queries.sum()), most_answers(plan, payer.abstains))


@dataclass(frozen=True)
class Alike:
    """Units for which each query that they vote on has the same cost.

    Attributes:
        order: of their budgets.
        influence: what each changes in one query.
        enforce: which costs count against their budgets.
        abstains: labels that cost none of them anything, by their index in the plan.
        payers: the units.
        queries: the queries (Q,) on which any of them votes.
    """

    order: float
    influence: Influence
    enforce: str
    abstains: tuple[int, ...]
    payers: tuple[Payer, ...]
    queries: NDArray[np.bool_] = field(repr=False)


def alike(payers: Iterable[Payer]) -> list[Alike]:
    """Group the payers of a batch by the values that decide their costs, to compute each cost once."""
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
