"""Ending sessions and dying batches: reservations are released, evaluated batches are charged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, select, update

from ostraka.guardian.ledger.members import limits
from ostraka.guardian.ledger.sessions import batches, evaluations, sessions
from ostraka.guardian.ledger.sessions.sessions import change_all, find_row, lock_open, set_state
from ostraka.guardian.ledger.store import kept_answers
from ostraka.guardian.ledger.store.schema import batches as batch_table
from ostraka.guardian.ledger.store.schema import charges, meta
from ostraka.guardian.ledger.store.schema import units as unit_table
from ostraka.guardian.ledger.store.session_values import StoredSession
from ostraka.guardian.ledger.store.values import UnitKey
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.units import units


def settle(tx: Transaction, session: StoredSession, batch_id: int) -> bytes | None:
    """Return a batch's stored answers, or make it dead for good and return None.

    A dead batch is charged for its check, if it had one, and its worst case to units whose party has
    evaluated it. Raises `batch.forgotten` if it was released and its answers were dropped.
    """
    row = batches.find(tx.connection, session.session_id, batch_id)
    if row is not None and row.state != "ticketed":
        return None if row.answers is None else kept_answers.require(row.answers, batch_id)
    kill(tx, session.session_id, batch_id)
    return None


def kill(tx: Transaction, session_id: str, batch_id: int) -> None:
    """Make an unreleased batch dead for good; its id may be new.

    Raises `policy.open_limit` if the id is new and too many batches of the session died.
    """
    row = batches.find(tx.connection, session_id, batch_id)
    if row is None:
        limits.check_dead(tx.connection, session_id)
        batches.insert_batch(tx, session_id, batch_id, size=0, ticket=b"", state="dead")
    else:
        bury(tx, batch_table.c.id == row.id)
    tx.record("batch_dead", session=session_id, batch=batch_id)


def bury(tx: Transaction, where: ColumnElement[bool] | None = None) -> list[list[str | int]]:
    """Mark matching ticketed batches dead, release their reservations, and return their names.

    Charges for their checks stay, and units whose party has evaluated a batch are charged its worst cost. The
    caller has locked their sessions.
    """
    ticketed = batch_table.c.state == "ticketed"
    ticketed = ticketed if where is None else ticketed & where
    rows = tx.connection.execute(select(batch_table).where(ticketed).order_by(batch_table.c.id)).all()
    if not rows:
        return []
    evaluations.charge_all(tx, ticketed)
    held = _reservations(tx.connection, ticketed)
    locked = units.find(tx.connection, held)
    units.give_back_all(tx, [(row, held[key]) for key, row in locked.items()])
    asked: Counter[str] = Counter()
    for row in rows:
        asked[row.session_id] += row.size
    for session_id, queries in asked.items():
        sessions.add_asked(tx, session_id, -queries)
    tx.connection.execute(update(batch_table).where(ticketed).values(state="dead"))
    return [[row.session_id, row.batch_id] for row in rows]


def bury_all(tx: Transaction, session_ids: Sequence[str]) -> list[list[str | int]]:
    """As `bury`, for all batches of these sessions, which the caller has locked."""
    return [
        dead for part in sessions.parts(session_ids) for dead in bury(tx, batch_table.c.session_id.in_(part))
    ]


def _reservations(connection: Connection, ticketed: ColumnElement[bool]) -> dict[UnitKey, int]:
    """Return what ticketed batches still reserve from units that reserve."""
    key = (unit_table.c.party, unit_table.c.group_name, unit_table.c.adjacency)
    statement: Select[Any] = (
        select(*key, func.sum(charges.c.reserved - charges.c.worst_case).label("reserved"))
        .select_from(
            charges.join(batch_table, batch_table.c.id == charges.c.entry).join(
                unit_table, unit_table.c.id == charges.c.unit
            )
        )
        .where(ticketed, unit_table.c.enforce == "worst_case")
        .group_by(*key)
    )
    return {units.key_of(row): int(row.reserved) for row in connection.execute(statement)}


Ended = list[tuple[str, list[int]]]
"""Sessions by id, each with the batches that died with it."""


def close(tx: Transaction, session: StoredSession) -> None:
    """Close a session; its batches without answers become dead. Closing again changes nothing."""
    if session.state == "open":
        _leave(tx, session.session_id, "closed")


def end(tx: Transaction, session: StoredSession) -> None:
    """End a session for reasons that must not be disclosed; otherwise as `close`."""
    if session.state == "open":
        _leave(tx, session.session_id, "ended")


def cancel(tx: Transaction, session_id: str, *, reason: str) -> None:
    """End an open session for an administrator; its batches without answers become dead.

    Raises:
        OstrakaError: `session.unknown`.
    """
    if find_row(tx.connection, session_id, lock=True).state == "open":
        _leave(tx, session_id, "ended", reason=reason)


def _leave(tx: Transaction, session_id: str, state: str, **details: str) -> None:
    """Close or end a session that is locked."""
    dead = bury(tx, batch_table.c.session_id == session_id)
    set_state(tx, session_id, state)
    tx.record(f"session_{state}", session=session_id, dead=[batch for _, batch in dead], **details)


def end_all(tx: Transaction) -> Ended:
    """End every open session, one by one; batches without stored answers become dead."""
    names = sorted(lock_open(tx.connection))
    ended = [(name, [int(batch) for _, batch in bury_all(tx, [name])]) for name in names]
    change_all(tx, names, state="ended")
    return ended


def begin_epoch(tx: Transaction) -> int:
    """Increase the ledger's epoch, so that every party must reconcile, and return it.

    Stored totals of votes may have been published in the lost history. A second publication with other noise
    would reveal more than the ledger records. So they are deleted.
    """
    tx.connection.execute(update(charges).where(charges.c.vote_total.is_not(None)).values(vote_total=None))
    raised = update(meta).values(epoch=meta.c.epoch + 1).returning(meta.c.epoch)
    return int(tx.connection.execute(raised).scalar_one())
