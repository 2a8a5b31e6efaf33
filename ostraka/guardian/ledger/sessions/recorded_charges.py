"""Read access to recorded charges of every kind."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Select, case, func, null, select, union_all

from ostraka.guardian.ledger.reader import LedgerReader, View
from ostraka.guardian.ledger.sessions import batches, sessions
from ostraka.guardian.ledger.store.schema import batches as batch_table
from ostraka.guardian.ledger.store.schema import charges as charge_table
from ostraka.guardian.ledger.store.schema import entries as entry_table
from ostraka.guardian.ledger.store.schema import evaluations as evaluation_table
from ostraka.guardian.ledger.store.schema import receipts as receipt_table
from ostraka.guardian.ledger.store.schema import units as unit_table
from ostraka.guardian.ledger.store.values import RecordedCharge, SealedCharge, UnitKey
from ostraka.guardian.ledger.units import units

ROWS = 1000
"""Approximate number of charges that are read at a time."""
_MAX_ENTRIES = 500
"""Entries whose charges are read together, however few each has: a statement names them all."""
_UNIT = (unit_table.c.party, unit_table.c.group_name, unit_table.c.adjacency)
_DIED = evaluation_table.c.charged_unix_ms
T = TypeVar("T")


@dataclass(frozen=True)
class Wanted:
    """Which charges to return.

    Attributes:
        session_id: only of this session.
        party: only of this party's units.
        from_ms: charged then or later, in unix milliseconds.
        to_ms: charged before.
        kind: only of this kind of entry.
    """

    session_id: str | None = None
    party: str | None = None
    from_ms: int = 0
    to_ms: int | None = None
    kind: str | None = None


def charges(
    view: View,
    session_id: str | None = None,
    *,
    party: str | None = None,
    from_ms: int = 0,
    to_ms: int | None = None,
    kind: str | None = None,
) -> list[RecordedCharge]:
    """Return the charges of every entry, oldest first; optionally of one session, party, time or kind.

    A batch that was checked and not released counts from its check on, with the check's cost. A batch that
    died after a party had evaluated it counts from its death on, with its worst cost to that party. Charges
    from a party's receipts belong to no session.

    Data-dependent amounts can be read only with the ledger's key, and belong in confidential reports.

    Args:
        view: of the ledger.
        session_id: only of this session.
        party: only of this party's units.
        from_ms: charged then or later, in unix milliseconds.
        to_ms: charged before.
        kind: only of this kind of entry.

    Raises:
        OstrakaError: `ledger.tampered` if the key does not open an amount.
    """
    statement = _statement(Wanted(session_id, party, from_ms, to_ms, kind))
    return [_charge_of(row, _unseal(view, row)) for row in view.connection.execute(statement)]


def public_charges(ledger: LedgerReader, wanted: Wanted) -> Iterator[RecordedCharge]:
    """Yield charges as `charges` does, without data-dependent costs, read in parts.

    No transaction waits for the reader, and only one part is in memory. Later charges are not included.
    """
    return _in_parts(ledger, wanted, lambda row: _charge_of(row, None))


def sealed_charges(ledger: LedgerReader) -> Iterator[SealedCharge]:
    """Yield all charges as `public_charges`, with their data-dependent costs still encrypted."""
    return _in_parts(
        ledger,
        Wanted(),
        lambda row: SealedCharge(
            session_id=row.session_id,
            batch_id=row.batch_id,
            unit=units.key_of(row),
            worst_case=row.worst_case,
            sealed=row.sealed or b"",
            released_unix_ms=row.charged_unix_ms,
        ),
    )


def _in_parts(ledger: LedgerReader, wanted: Wanted, made: Callable[[Any], T]) -> Iterator[T]:
    """Read the charges of as many entries at a time as have about ROWS charges."""
    left = ledger.read(_entries_of, wanted)
    size = 1  # the first entry shows how many charges an entry may have
    while left:
        part = left[:size]
        left = left[size:]
        found = ledger.read(_part, wanted, part, made)
        yield from found
        size = min(_MAX_ENTRIES, max(1, ROWS * len(part) // max(1, len(found))))


def _part(view: View, wanted: Wanted, ids: Collection[int], made: Callable[[Any], T]) -> list[T]:
    statement = _statement(wanted).where(charge_table.c.entry.in_(ids))
    return [made(row) for row in view.connection.execute(statement)]


def _entries_of(view: View, wanted: Wanted) -> Sequence[int]:
    """Ids of the entries with a matching charge, in the order of its time."""
    times = (
        select(batch_table.c.released_unix_ms.label("time"), batch_table.c.id, batch_table.c.session_id),
        select(batch_table.c.checked_unix_ms, batch_table.c.id, batch_table.c.session_id).where(
            batch_table.c.state != "released"
        ),
        select(_DIED, batch_table.c.id, batch_table.c.session_id)
        .join(evaluation_table, evaluation_table.c.batch == batch_table.c.id)
        .where(batch_table.c.state == "dead")
        .distinct(),
        select(entry_table.c.time_unix_ms, entry_table.c.id, null()).where(entry_table.c.kind != "batch"),
    )
    found = union_all(*(part.where(_within(part.selected_columns[0], wanted)) for part in times)).subquery()
    statement = select(found.c.id).order_by(found.c.time, found.c.id)
    if wanted.session_id is not None:
        statement = statement.where(found.c.session_id == wanted.session_id)
    return list(dict.fromkeys(view.connection.scalars(statement)))


def _within(time: ColumnElement[int], wanted: Wanted) -> ColumnElement[bool]:
    since = time >= wanted.from_ms
    return since if wanted.to_ms is None else since & (time < wanted.to_ms)


def _statement(wanted: Wanted) -> Select[Any]:
    evaluated = (evaluation_table.c.batch == charge_table.c.entry) & (
        evaluation_table.c.unit == charge_table.c.unit
    )
    at_once = case((entry_table.c.kind != "batch", entry_table.c.time_unix_ms))
    charged_ms = func.coalesce(batch_table.c.released_unix_ms, _DIED, batch_table.c.checked_unix_ms, at_once)
    statement = (
        select(entry_table.c.id, entry_table.c.kind, charge_table.c.worst_case, *_UNIT)
        .add_columns(charge_table.c.data_dependent.label("sealed"), charge_table.c.spent)
        .add_columns(
            func.coalesce(batch_table.c.session_id, receipt_table.c.session_id, "").label("session_id"),
            func.coalesce(batch_table.c.batch_id, receipt_table.c.batch_id, entry_table.c.id).label(
                "batch_id"
            ),
        )
        .join(charge_table, charge_table.c.entry == entry_table.c.id)
        .join(unit_table, unit_table.c.id == charge_table.c.unit)
        .outerjoin(batch_table, batch_table.c.id == entry_table.c.id)
        .outerjoin(receipt_table, receipt_table.c.id == entry_table.c.id)
        .outerjoin(evaluation_table, evaluated)
        .add_columns(charged_ms.label("charged_unix_ms"))
        .where(_within(charged_ms, wanted))
        .order_by(charged_ms, entry_table.c.id, unit_table.c.id)
    )
    if wanted.session_id is not None:
        statement = statement.where(batch_table.c.session_id == wanted.session_id)
    if wanted.kind is not None:
        statement = statement.where(entry_table.c.kind == wanted.kind)
    return statement if wanted.party is None else statement.where(unit_table.c.party == wanted.party)


def paying_units(view: View, session_ids: Collection[str], party: str | None = None) -> set[UnitKey]:
    """Return the units with a release in such sessions, even at no cost; of one party or all."""
    statement = (
        select(*_UNIT)
        .join(charge_table, charge_table.c.unit == unit_table.c.id)
        .join(batch_table, batch_table.c.id == charge_table.c.entry)
        .where(batch_table.c.released_unix_ms.is_not(None))
        .distinct()
    )
    if party is not None:
        statement = statement.where(unit_table.c.party == party)
    return {
        UnitKey(*row)
        for part in sessions.parts(list(session_ids))
        for row in view.connection.execute(statement.where(batch_table.c.session_id.in_(part)))
    }


def _charge_of(row: Any, data_dependent: int | None) -> RecordedCharge:
    return RecordedCharge(
        session_id=row.session_id,
        batch_id=row.batch_id,
        unit=units.key_of(row),
        worst_case=row.worst_case,
        data_dependent=data_dependent,
        released_unix_ms=row.charged_unix_ms,
        spent=row.spent,
        kind=row.kind,
    )


def _unseal(view: View, row: Any) -> int | None:
    if view.cipher is None:
        return None
    if row.kind != "batch":
        return int(row.worst_case)
    sealed_row = batches.seal_context(row.session_id, row.batch_id, units.key_of(row))
    return view.cipher.unseal(row.sealed, *sealed_row)
