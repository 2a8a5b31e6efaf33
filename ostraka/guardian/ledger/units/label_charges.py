"""Charges of labels alone: entries that cost units of adjacency label and none of records."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from sqlalchemy import Connection, case, select

from ostraka.guardian.ledger.store.amounts import add
from ostraka.guardian.ledger.store.schema import batches, charges, units
from ostraka.guardian.ledger.units.raised_votes import Raises


def labels_alone(connection: Connection, party: str, order: float) -> int | None:
    """Return the most that any label of `party` has spent at `order` on what its record did not pay for.

    Batches under way count with their reservations, and every entry by the group that it cost most, because
    records change groups. None where nobody knows, because a label was charged at a smaller order, or for
    fewer votes of one person than the party has declared since.
    """
    raises = Raises.of(connection, party)
    held = case((batches.c.state == "ticketed", charges.c.reserved), else_=0)
    amount = (charges.c.worst_case + held).label("amount")
    statement = (
        select(charges.c.entry, charges.c.votes, units.c.adjacency, units.c.renyi_order, amount)
        .join(units, units.c.id == charges.c.unit)
        .outerjoin(batches, batches.c.id == charges.c.entry)
        .where(units.c.party == party)
    )
    by_entry: dict[int, list[Any]] = defaultdict(list)
    for row in connection.execute(statement):
        by_entry[row.entry].append(row)
    total = 0
    for paid in by_entry.values():
        if any(row.adjacency == "record" for row in paid):
            continue
        if any(row.amount and (row.renyi_order < order or _overtaken(raises, row)) for row in paid):
            return None
        total = add(total, max(int(row.amount) for row in paid))
    return total


def _overtaken(raises: Raises, row: Any) -> bool:
    """Whether the party has declared more votes of one person than a charge was computed for."""
    votes = row.votes or 1
    return raises.since(row.entry, votes) > votes
