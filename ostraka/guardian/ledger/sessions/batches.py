"""Batches: ticketed with a reservation, then released with a charge, or dead (`endings`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, insert, select

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger.log.audit import sha256
from ostraka.guardian.ledger.members import limits, manifests
from ostraka.guardian.ledger.members.manifests import Declared
from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.sessions import sessions
from ostraka.guardian.ledger.store import kept_answers
from ostraka.guardian.ledger.store.amounts import check_amount
from ostraka.guardian.ledger.store.schema import batches, charges
from ostraka.guardian.ledger.store.session_values import StoredBatch, StoredSession
from ostraka.guardian.ledger.store.values import Budget, UnitKey
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.units import entries, units

BATCH_ID_MAX = 2**63 - 1
"""The largest integer of the databases; the protocol has unsigned 64-bit integers."""
BatchRow = Row[Any]


class BudgetedMeanwhileError(Exception):
    """A unit got its budget after a ticket was made that does not charge it."""


def find(connection: Connection, session_id: str, batch_id: int) -> BatchRow | None:
    """Return a batch's row, or None if its id was never used."""
    check_batch_id(batch_id)
    same = (batches.c.session_id == session_id) & (batches.c.batch_id == batch_id)
    return connection.execute(select(batches).where(same)).one_or_none()


def open_batch(
    tx: Transaction,
    session: StoredSession,
    batch_id: int,
    size: int,
    ticket: bytes,
    reservations: Mapping[UnitKey, int],
    *,
    votes: Mapping[str, int] | None = None,
    declared: Declared | None = None,
    unbudgeted: Collection[UnitKey] = (),
    daily_limit: int | None = None,
    most_open: int | None = None,
) -> bytes:
    """Reserve a batch's worst cost from all its units or none, and return the ticket stored for it.

    A repeated call with the same size returns the first call's ticket. Units with a data-dependent budget
    reserve nothing, and may be left out.

    Args:
        tx: a transaction in which this replica holds the session.
        session: an open session.
        batch_id: at most 2^63 - 1, new in the session.
        size: queries in the batch.
        ticket: its serialized SignedList.
        reservations: worst-case amounts for every unit that the release may charge.
        votes: by party, the number of votes of one person that the amounts are for; None if unknown.
        declared: manifests of the session's parties when the ticket was made, None if it uses none.
        unbudgeted: units that would also reserve, but had no budget when the ticket was made.
        daily_limit: queries that the querying party may ask in 24 hours, in batches that did not die.
        most_open: tickets that it may hold at a time.

    Raises:
        BudgetedMeanwhileError: one of `unbudgeted` has a budget now; make another ticket that charges it.
        OstrakaError: `budget.too_small` (detail `fits`: the largest batch that would fit), `budget.missing`,
            `batch.too_large` for more queries than the session may ask, `policy.daily_limit` (detail `left`),
            `policy.open_limit`, `batch.altered`, `batch.dead` (also if a unit was frozen or withdrawn:
            another ticket leaves it out), `session.closed`, `session.ended`, `manifest.changed` if a party
            registered another manifest since the ticket was made.
    """
    row = find(tx.connection, session.session_id, batch_id)
    if row is not None and row.state != "dead" and row.size == size:
        return bytes(row.ticket)
    sessions.require_open(session)
    if row is not None:
        raise dead(batch_id) if row.state == "dead" else other_content(batch_id)
    limits.check_session(tx.connection, session, size)
    limits.check_dead(tx.connection, session.session_id)
    if most_open is not None:
        limits.check_open_batches(tx.connection, session.querier, most_open)
    found = _reservable(tx.connection, batch_id, size, reservations)
    if unbudgeted and units.find(tx.connection, unbudgeted):
        raise BudgetedMeanwhileError
    if declared is not None and manifests.count_declared(tx, declared.sites) != declared:
        raise _manifests_changed()
    batch = insert_batch(tx, session.session_id, batch_id, size=size, ticket=ticket, state="ticketed")
    sessions.add_asked(tx, session.session_id, size)
    _reserve(tx, batch, [(row, reservations[key]) for key, row in found.items()], votes or {})
    if daily_limit is not None:
        limits.check_day(tx, session.querier, size, daily_limit)
    tx.record(
        "batch_opened",
        session=session.session_id,
        batch=batch_id,
        size=size,
        ticket_sha256=sha256(ticket),
        reserved=[[*key, reservations[key]] for key in found],
        **({} if votes is None else {"votes": {site: each for site, each in votes.items() if each != 1}}),
    )
    return ticket


def insert_batch(
    tx: Transaction, session_id: str, batch_id: int, *, size: int, ticket: bytes, state: str
) -> int:
    """Store a batch without answers and return its entry's id."""
    batch = entries.add(tx, "batch")
    row = {
        "id": batch,
        "session_id": session_id,
        "batch_id": batch_id,
        "size": size,
        "ticket": ticket,
        "state": state,
        "opened_unix_ms": tx.now_ms,
        "answered": 0,
    }
    tx.connection.execute(insert(batches).values(row))
    return batch


def answers_of(row: BatchRow | None, batch_id: int, request_digest: bytes) -> bytes | None:
    """Return a row's answers to this request; None if it was not released.

    Raises `batch.altered` if it answered another request, `batch.forgotten` if its answers were dropped.
    """
    if row is None or row.state != "released":
        return None
    if row.request_digest != request_digest:
        raise other_content(batch_id)
    return kept_answers.require(row.answers, batch_id)


def answers(view: View, session_id: str, batch_id: int, request_digest: bytes) -> bytes | None:
    """Return the earlier answers to this request, or None if nothing was released yet.

    Raises:
        OstrakaError: as `answers_of`.
    """
    return answers_of(find(view.connection, session_id, batch_id), batch_id, request_digest)


def find_batch(view: View, session_id: str, batch_id: int) -> StoredBatch | None:
    """Return a batch, or None if its id was never used in the session."""
    row = find(view.connection, session_id, batch_id)
    return None if row is None else batch_of(row)


def with_session(view: View, session_id: str, batch_id: int) -> tuple[StoredSession, StoredBatch | None]:
    """Return a session with one of its batches, or with None if the batch's id is unused."""
    return sessions.find_session(view, session_id), find_batch(view, session_id, batch_id)


def batch_of(row: BatchRow) -> StoredBatch:
    """Return the public part of a batch's row."""
    return StoredBatch(
        session_id=row.session_id,
        batch_id=row.batch_id,
        size=row.size,
        ticket=row.ticket,
        state=row.state,
        answers=row.answers,
    )


def check_batch_id(batch_id: int) -> None:
    """Raise `message.invalid` for an id that the ledger cannot store."""
    if not 0 <= batch_id <= BATCH_ID_MAX:
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID, f"A batch id lies between 0 and 2^63 - 1, not at {batch_id}."
        )


def dead(batch_id: int) -> OstrakaError:
    """Return the error for a batch that can no longer be released."""
    return OstrakaError(
        ErrorCode.BATCH_DEAD,
        f"Batch {batch_id} is dead and has no answers; ask its queries again under a new batch id.",
    )


def other_content(batch_id: int) -> OstrakaError:
    """Return the error for different content under a used batch id."""
    return OstrakaError(
        ErrorCode.BATCH_ALTERED,
        f"Batch {batch_id} was sent before with other content; a retry must send the same bytes.",
    )


def seal_context(session_id: str, batch_id: int, key: UnitKey) -> tuple[str | int, ...]:
    """Return the context to which the encrypted sum of a batch and unit is bound."""
    return ("charge", session_id, batch_id, *key)


def require_ticketed(session: StoredSession, row: BatchRow | None, batch_id: int) -> BatchRow:
    """Return a chargeable batch's row; raises `session.*`, `ticket.invalid` or `batch.dead`."""
    sessions.require_open(session)
    if row is None:
        raise OstrakaError(
            ErrorCode.TICKET_INVALID, f"Batch {batch_id} has no ticket; label again, which opens another."
        )
    if row.state == "dead":
        raise dead(batch_id)
    return row


def _manifests_changed() -> OstrakaError:
    return OstrakaError(
        ErrorCode.MANIFEST_CHANGED,
        "A party registered other records or teachers while the batch was opened; open a new session.",
    )


def _reservable(
    connection: Connection, batch_id: int, size: int, reservations: Mapping[UnitKey, int]
) -> dict[UnitKey, units.UnitRow]:
    """Lock all units, and return the units that must reserve.

    A unit that left since the ticket was signed would still be asked for votes, so the batch is refused and
    its queries need a new ticket.
    """
    for amount in reservations.values():
        check_amount("reservations", amount)
    found = units.require(connection, reservations)
    if any(row.state != "active" for row in found.values()):
        raise dead(batch_id)
    held = {key: row for key, row in found.items() if row.enforce == "worst_case"}
    _check_fits(size, [(units.budget(row), reservations[key]) for key, row in held.items()])
    return held


def _check_fits(size: int, wanted: Sequence[tuple[Budget, int]]) -> None:
    short = [(budget, amount) for budget, amount in wanted if amount > budget.available]
    if not short:
        return
    fits = min(budget.available * size // amount for budget, amount in short)
    advice = f"a batch of {fits} would" if fits else "no query fits; use more noise, or leave that party out"
    raise OstrakaError(
        ErrorCode.BUDGET_TOO_SMALL,
        f"A batch of {size} does not fit what is left of the budget of {short[0][0].key}; {advice}.",
        fits=str(fits),
    )


def _reserve(
    tx: Transaction,
    batch: int,
    amounts: Sequence[tuple[units.UnitRow, int]],
    votes: Mapping[str, int],
) -> None:
    if not amounts:
        return
    rows = [
        {
            "entry": batch,
            "unit": row.id,
            "votes": votes.get(row.party),
            "reserved": amount,
            "worst_case": 0,
        }
        for row, amount in amounts
    ]
    tx.connection.execute(insert(charges), rows)
    units.reserve(tx, batch)
