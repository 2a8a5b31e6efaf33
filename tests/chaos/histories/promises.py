"""Compares what a ledger says of every record with the truth."""

from __future__ import annotations

from collections.abc import Iterator

from ostraka.common.privacy import AMOUNT_UNIT, epsilon
from ostraka.guardian.ledger import Budget, UnitKey
from ostraka.guardian.ledger.store.amounts import AMOUNT_MAX
from tests.chaos.histories.federation import Federation
from tests.chaos.histories.truth import Record

ADJACENCIES = ("record", "label")


def broken(made: Federation) -> Iterator[str]:
    """Yield a line for each unmarked unit that states less than one of its records has spent.

    Records of a party whose receipts a restored ledger still waits for have no promise yet.
    """
    known = made.budgets()
    for site in made.sites.values():
        if site.away:
            continue
        for record, group in site.at.items():
            for adjacency in ADJACENCIES:
                budget = known.get(UnitKey(site.name, group, adjacency))
                if budget is not None and budget.broken_unix_ms is None:
                    yield from _of(made, record, budget)


def _of(made: Federation, record: Record, budget: Budget) -> Iterator[str]:
    unit, adjacency = "/".join(budget.key), budget.key.adjacency
    cost, said = made.truth.spent(record, adjacency, budget.order), budget.spent + budget.spent_before
    if cost is None:
        yield f"{unit} says that {said} was spent, and what {record} has spent nobody can say"
        return
    if min(cost, AMOUNT_MAX) > said:
        yield f"{unit} says that {said} was spent, and {record} has spent {cost}"
    least = made.promised.get((record, adjacency), budget.epsilon)
    spent = epsilon(cost * AMOUNT_UNIT, budget.order, budget.delta)
    if said <= budget.budget and spent > least:
        yield f"{record} was promised epsilon {least:g}, and has spent {spent:g}, as {unit} does not tell"
