"""Charges of labels alone: batches of plans of adjacency label."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from sqlalchemy import Connection, Select, case, literal, select

from ostraka.guardian.ledger.amounts import add
from ostraka.guardian.ledger.schema import (
    batches,
    charges,
    publication_charges,
    reconciled,
    units,
)


def labels_alone(connection: Connection, party: str, order: float) -> int | None:
    """Return the most that any label of `party` has spent at `order` on what its record did not pay for.

    Batches under way count with their reservations, and every batch by the group that it cost most, because
    records change groups. None where nobody knows, because a label was charged at a smaller order.
    """
    by_batch: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for statement in (_charges(party), _receipts(party), _publications(party)):
        for row in connection.execute(statement):
            by_batch[row.session_id, row.batch_id].append(row)
    total = 0
    for paid in by_batch.values():
        if any(row.adjacency == "record" for row in paid):
            continue
        if any(row.amount and row.renyi_order < order for row in paid):
            return None
        total = add(total, max(int(row.amount) for row in paid))
    return total


def _charges(party: str) -> Select[Any]:
    """Select what batches were charged, those under way with what they hold back."""
    held = case((batches.c.state == "ticketed", charges.c.reserved), else_=0)
    columns = (units.c.adjacency, units.c.renyi_order, (charges.c.worst_case + held).label("amount"))
    joined = charges.join(units, units.c.id == charges.c.unit).join(batches, batches.c.id == charges.c.batch)
    found = select(batches.c.session_id, batches.c.batch_id, *columns).select_from(joined)
    return found.where(units.c.party == party)


def _receipts(party: str) -> Select[Any]:
    """Select what receipts of a lost history were charged."""
    columns = (units.c.adjacency, units.c.renyi_order, reconciled.c.worst_case.label("amount"))
    found = select(reconciled.c.session_id, reconciled.c.batch_id, *columns)
    return found.select_from(reconciled.join(units, units.c.id == reconciled.c.unit)).where(
        units.c.party == party
    )


def _publications(party: str) -> Select[Any]:
    """Select what publications were charged."""
    paid = publication_charges
    columns = (units.c.adjacency, units.c.renyi_order, paid.c.worst_case.label("amount"))
    found = select(literal("").label("session_id"), paid.c.publication.label("batch_id"), *columns)
    return found.select_from(paid.join(units, units.c.id == paid.c.unit)).where(units.c.party == party)
