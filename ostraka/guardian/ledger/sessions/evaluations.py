"""Evaluations of encrypted batches by parties, charged in the worst case if nothing is released.

From an evaluation a querying party learns what its encrypted queries extract, whether or not it continues. So
a party announces its answer before the answer leaves. From then on the batch costs its units what a release
charges them, or else the worst case.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Select, exists, insert, select, update

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger.sessions import batches, charging
from ostraka.guardian.ledger.store.amounts import add
from ostraka.guardian.ledger.store.schema import batches as batch_table
from ostraka.guardian.ledger.store.schema import evaluations
from ostraka.guardian.ledger.store.schema import units as unit_table
from ostraka.guardian.ledger.store.session_values import StoredSession
from ostraka.guardian.ledger.store.values import Charge, UnitKey
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.units import units


def record(
    tx: Transaction, session: StoredSession, batch_id: int, party: str, worst: Mapping[UnitKey, int]
) -> None:
    """Record that a party answers a batch of encrypted queries, before its answer leaves.

    From then on the batch costs the party's units in any case: what its release charges them, or the worst
    case if it dies or is released without that party. Repeating the call changes nothing.

    Args:
        tx: a transaction in which this replica holds the session.
        session: the batch's session.
        batch_id: a ticketed batch.
        party: the party that answers.
        worst: the worst cost to each of its units that the batch may charge; if the ticket reserved from a
            unit, the reservation counts instead.

    Raises:
        OstrakaError: `batch.dead`, `batch.frozen` if it was released without this party, `ticket.invalid`
            (never opened), `budget.missing`, `session.closed`, `session.ended`.
    """
    batch = batches.find(tx.connection, session.session_id, batch_id)
    if batch is not None and any(key.party == party for key in worst_costs_of(tx, batch)):
        return
    batch = batches.require_ticketed(session, batch, batch_id)
    if batch.state == "released":
        raise OstrakaError(
            ErrorCode.BATCH_FROZEN, f"Batch {batch_id} was released without this party; answer it no more."
        )
    held = charging.reservations_of(tx, batch)
    rows = units.require(tx.connection, worst)
    owed = {key: held[key].reserved if key in held else add(0, worst[key]) for key in rows}
    if not owed:
        return
    values = [
        {"batch": batch.id, "unit": rows[key].id, "worst_case": amount, "time_unix_ms": tx.now_ms}
        for key, amount in owed.items()
    ]
    tx.connection.execute(insert(evaluations), values)
    tx.record(
        "batch_evaluated",
        session=session.session_id,
        batch=batch_id,
        party=party,
        owed=[[*key, amount] for key, amount in owed.items()],
    )


def worst_costs_of(tx: Transaction, batch: batches.BatchRow) -> dict[UnitKey, int]:
    """Return a batch's cost to the units of parties that evaluated it, unless a release charges them."""
    return {units.key_of(row): row.worst_case for row in tx.connection.execute(_of(batch))}


def charge_all(tx: Transaction, dying: ColumnElement[bool]) -> None:
    """Charge the worst case of matching ticketed batches to the units of all parties that evaluated them."""
    evaluated = exists().where(evaluations.c.batch == batch_table.c.id)
    statement = select(batch_table).where(dying & evaluated).order_by(batch_table.c.id)
    for batch in tx.connection.execute(statement).all():
        owed = worst_costs_of(tx, batch)
        rows = units.require(tx.connection, owed)
        held = {key: found for key, found in charging.reservations_of(tx, batch).items() if key in owed}
        charging.charge(tx, batch, rows, held, worst_charges(owed))
        mark(tx, batch, owed)


def worst_charges(owed: Mapping[UnitKey, int]) -> dict[UnitKey, Charge]:
    """Return the charges of units without a release."""
    return {key: Charge(key, amount, amount) for key, amount in owed.items()}


def mark(tx: Transaction, batch: batches.BatchRow, charged: Collection[UnitKey]) -> None:
    """Record that the worst cost of a batch is now charged to these units."""
    ids = [row.unit for row in tx.connection.execute(_of(batch)) if units.key_of(row) in charged]
    same = (evaluations.c.batch == batch.id) & evaluations.c.unit.in_(ids)
    tx.connection.execute(update(evaluations).where(same).values(charged_unix_ms=tx.now_ms))


def _of(batch: batches.BatchRow) -> Select[Any]:
    key = (unit_table.c.party, unit_table.c.group_name, unit_table.c.adjacency)
    return (
        select(evaluations, *key)
        .join(unit_table, unit_table.c.id == evaluations.c.unit)
        .where(evaluations.c.batch == batch.id)
        .order_by(*key)
    )
