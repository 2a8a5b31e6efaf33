"""Charges of batches as they are recorded, for whoever reads them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, func, select

from ostraka.guardian.ledger import batches, units
from ostraka.guardian.ledger.schema import batches as batch_table
from ostraka.guardian.ledger.schema import charges as charge_table
from ostraka.guardian.ledger.schema import evaluations as evaluation_table
from ostraka.guardian.ledger.schema import units as unit_table
from ostraka.guardian.ledger.values import RecordedCharge, SealedCharge, UnitKey
from ostraka.guardian.ledger.view import View

_UNIT = (unit_table.c.party, unit_table.c.group_name, unit_table.c.adjacency)


def charges(
    view: View,
    session_id: str | None = None,
    *,
    party: str | None = None,
    from_ms: int = 0,
    to_ms: int | None = None,
) -> list[RecordedCharge]:
    """Return what every batch was charged, oldest first; of one session, party or time, if so asked.

    One that was checked and not released counts from its check on, with what that cost; one that died
    after a party had evaluated it from its death on, with its worst cost to that party.

    Data-dependent amounts are read with the ledger's key alone and belong in confidential
    reports. Charges that a party's receipts made good are in `reconcile.charges`.

    Args:
        view: of the ledger.
        session_id: of this session alone.
        party: of this party's units alone.
        from_ms: charged then or later, in unix milliseconds.
        to_ms: charged before.

    Raises:
        OstrakaError: `ledger.tampered` where the key does not open an amount.
    """
    statement = _statement(from_ms)
    if session_id is not None:
        statement = statement.where(batch_table.c.session_id == session_id)
    if party is not None:
        statement = statement.where(unit_table.c.party == party)
    if to_ms is not None:
        statement = statement.where(statement.selected_columns.charged_unix_ms < to_ms)
    return [
        RecordedCharge(
            session_id=row.session_id,
            batch_id=row.batch_id,
            unit=units.key_of(row),
            worst_case=row.worst_case,
            data_dependent=_unsealed(view, row),
            released_unix_ms=row.charged_unix_ms,
        )
        for row in view.connection.execute(statement)
    ]


def sealed_charges(view: View) -> list[SealedCharge]:
    """Return every batch's charges as `charges` does, with what they cost on their votes still encrypted."""
    return [
        SealedCharge(
            session_id=row.session_id,
            batch_id=row.batch_id,
            unit=units.key_of(row),
            worst_case=row.worst_case,
            sealed=row.sealed,
            released_unix_ms=row.charged_unix_ms,
        )
        for row in view.connection.execute(_statement())
    ]


def _statement(from_ms: int = 0) -> Select[Any]:
    evaluated = (evaluation_table.c.batch == charge_table.c.batch) & (
        evaluation_table.c.unit == charge_table.c.unit
    )
    charged_ms = func.coalesce(
        batch_table.c.released_unix_ms, evaluation_table.c.charged_unix_ms, batch_table.c.checked_unix_ms
    )
    return (
        select(batch_table.c.session_id, batch_table.c.batch_id, charge_table.c.worst_case, *_UNIT)
        .add_columns(charge_table.c.data_dependent.label("sealed"))
        .join(charge_table, charge_table.c.batch == batch_table.c.id)
        .join(unit_table, unit_table.c.id == charge_table.c.unit)
        .outerjoin(evaluation_table, evaluated)
        .add_columns(charged_ms.label("charged_unix_ms"))
        .where(charged_ms >= from_ms)
        .order_by(charged_ms, batch_table.c.id, unit_table.c.id)
    )


def charged_sessions(view: View, party: str | None = None) -> set[tuple[UnitKey, str]]:
    """Which sessions released something of which units, charged or for nothing; of one party or all."""
    statement = (
        select(*_UNIT)
        .add_columns(batch_table.c.session_id)
        .join(charge_table, charge_table.c.unit == unit_table.c.id)
        .join(batch_table, batch_table.c.id == charge_table.c.batch)
        .where(batch_table.c.released_unix_ms.is_not(None))
        .distinct()
    )
    if party is not None:
        statement = statement.where(unit_table.c.party == party)
    return {(units.key_of(row), row.session_id) for row in view.connection.execute(statement)}


def _unsealed(view: View, row: units.UnitRow) -> int | None:
    if view.cipher is None:
        return None
    sealed_row = batches.sealed_row(row.session_id, row.batch_id, units.key_of(row))
    return view.cipher.unseal(row.sealed, *sealed_row)
