"""Batches: ticketed with a reservation, then released with a charge or dead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, insert, select, update

from common.errors import ErrorCode, OstrakaError
from guardian.ledger import sessions, units
from guardian.ledger.audit import sha256
from guardian.ledger.schema import batches, charges
from guardian.ledger.schema import units as unit_table
from guardian.ledger.transaction import Transaction
from guardian.ledger.values import Budget, StoredBatch, StoredSession, UnitKey, check_amount

BATCH_ID_MAX = 2**63 - 1
BatchRow = Row[Any]


def find(connection: Connection, session_id: str, batch_id: int) -> BatchRow | None:
    """A batch's row, if its id was ever used."""
    check_batch_id(batch_id)
    same = (batches.c.session_id == session_id) & (batches.c.batch_id == batch_id)
    return connection.execute(select(batches).where(same)).one_or_none()


def open_batch(
    tx: Transaction,
    session_id: str,
    batch_id: int,
    size: int,
    ticket: bytes,
    reservations: Mapping[UnitKey, int],
) -> bytes:
    """Reserve for a batch and store its ticket. See `Ledger.open_batch`."""
    session = sessions.find_session(tx.connection, session_id)
    row = find(tx.connection, session_id, batch_id)
    if row is not None and row.state != "dead" and row.size == size:
        return bytes(row.ticket)
    sessions.require_open(session)
    if row is not None:
        raise dead(batch_id) if row.state == "dead" else altered(batch_id)
    _check_limit(tx.connection, session, size)
    found = _reservable(tx.connection, size, reservations)
    batch = insert_batch(tx, session_id, batch_id, size=size, ticket=ticket, state="ticketed")
    reserved = [_reserve(tx, batch, row, reservations[key]) for key, row in found.items()]
    tx.record(
        "batch_opened",
        session=session_id,
        batch=batch_id,
        size=size,
        ticket_sha256=sha256(ticket),
        reserved=reserved,
    )
    return ticket


def insert_batch(
    tx: Transaction, session_id: str, batch_id: int, *, size: int, ticket: bytes, state: str
) -> int:
    """Store a batch without answers and return its row's id."""
    result = tx.connection.execute(
        insert(batches)
        .values(session_id=session_id, batch_id=batch_id, size=size, ticket=ticket, state=state, answered=0)
        .returning(batches.c.id)
    )
    return int(result.scalar_one())


def bury(tx: Transaction, where: ColumnElement[bool] | None = None) -> list[list[str | int]]:
    """Mark ticketed batches (those that match) dead, return their reservations, and name them."""
    ticketed = batches.c.state == "ticketed"
    ticketed = ticketed if where is None else ticketed & where
    rows = tx.connection.execute(select(batches).where(ticketed).order_by(batches.c.id)).all()
    held = (
        select(charges.c.unit, func.sum(charges.c.reserved).label("reserved"))
        .join(batches)
        .where(ticketed)
        .group_by(charges.c.unit)
        .subquery()
    )
    joined = select(unit_table, held.c.reserved.label("held")).join(held, held.c.unit == unit_table.c.id)
    for row in tx.connection.execute(joined.order_by(unit_table.c.id)).all():
        units.give_back(tx, row, int(row.held))
    tx.connection.execute(update(batches).where(ticketed).values(state="dead"))
    return [[row.session_id, row.batch_id] for row in rows]


def answers_of(row: BatchRow | None, batch_id: int, request_digest: bytes) -> bytes | None:
    """What a row answered to this request; `batch.altered` if it answered another one."""
    if row is None or row.state != "released":
        return None
    if row.request_digest != request_digest:
        raise altered(batch_id)
    return bytes(row.answers)


def stored(row: BatchRow) -> StoredBatch:
    """The public part of a batch's row."""
    return StoredBatch(
        session_id=row.session_id,
        batch_id=row.batch_id,
        size=row.size,
        ticket=row.ticket,
        state=row.state,
        answers=row.answers,
    )


def check_batch_id(batch_id: int) -> None:
    """Raise `message.invalid` for an id that the ledger cannot hold."""
    if not 0 <= batch_id <= BATCH_ID_MAX:
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID, f"A batch id lies between 0 and 2^63 - 1, not at {batch_id}."
        )


def dead(batch_id: int) -> OstrakaError:
    """The error of a batch that can no longer be released."""
    return OstrakaError(
        ErrorCode.BATCH_DEAD,
        f"Batch {batch_id} is dead and cost nothing; ask its queries again under a new batch id.",
    )


def altered(batch_id: int) -> OstrakaError:
    """The error of other content under a batch id that was used."""
    return OstrakaError(
        ErrorCode.BATCH_ALTERED,
        f"Batch {batch_id} was sent before with other content; a retry must send the same bytes.",
    )


def sealed_row(session_id: str, batch_id: int, key: UnitKey) -> tuple[str | int, ...]:
    """What the encrypted sum of a batch and unit is bound to."""
    return ("charge", session_id, batch_id, *key)


def _check_limit(connection: Connection, session: StoredSession, size: int) -> None:
    if size < 1:
        raise OstrakaError(ErrorCode.MESSAGE_INVALID, f"A batch has at least one query, not {size}.")
    live = (batches.c.session_id == session.session_id) & (batches.c.state != "dead")
    asked = connection.execute(select(func.coalesce(func.sum(batches.c.size), 0)).where(live)).scalar_one()
    left = session.queries - int(asked)
    if size > left:
        raise OstrakaError(
            ErrorCode.BATCH_TOO_LARGE,
            f"The session may ask {left} more of its {session.queries} queries, and this batch has {size};"
            " send a smaller batch or open another session.",
        )


def _reservable(
    connection: Connection, size: int, reservations: Mapping[UnitKey, int]
) -> dict[UnitKey, units.UnitRow]:
    for amount in reservations.values():
        check_amount("reservations", amount)
    found = {
        key: row
        for key, row in units.require(connection, reservations).items()
        if row.enforce == "worst_case"
    }
    _check_fits(size, [(units.budget(row), reservations[key]) for key, row in found.items()])
    return found


def _check_fits(size: int, wanted: Sequence[tuple[Budget, int]]) -> None:
    short = [(budget, amount) for budget, amount in wanted if amount > budget.available]
    if not short:
        return
    fits = min(budget.available * size // amount for budget, amount in short)
    advice = f"a batch of {fits} would" if fits else "no query does any more"
    raise OstrakaError(
        ErrorCode.BUDGET_TOO_SMALL,
        f"A batch of {size} does not fit what is left of the budget of {short[0][0].key}; {advice}.",
        fits=str(fits),
    )


def _reserve(tx: Transaction, batch: int, row: units.UnitRow, amount: int) -> list[str | int]:
    units.reserve(tx, row, amount)
    tx.connection.execute(insert(charges).values(batch=batch, unit=row.id, reserved=amount, worst_case=0))
    return [*units.key_of(row), amount]
