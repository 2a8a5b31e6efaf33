"""Sessions that end, one or all of them, with their batches that have no answers."""

from __future__ import annotations

from sqlalchemy import update

from ostraka.guardian.ledger.sessions import dead_batches
from ostraka.guardian.ledger.sessions.sessions import change_all, find_row, lock_open, set_state
from ostraka.guardian.ledger.store.schema import batches as batch_table
from ostraka.guardian.ledger.store.schema import charges, meta
from ostraka.guardian.ledger.store.session_values import StoredSession
from ostraka.guardian.ledger.transaction import Transaction

Ended = list[tuple[str, list[int]]]
"""Sessions by id, each with the batches that became dead with it."""


def close(tx: Transaction, session: StoredSession) -> None:
    """Close a session; its batches without answers become dead. Closing again changes nothing."""
    if session.state == "open":
        _leave(tx, session.session_id, "closed")


def end(tx: Transaction, session: StoredSession) -> None:
    """End a session for reasons that must not be told; otherwise as `close`."""
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
    dead = dead_batches.bury(tx, batch_table.c.session_id == session_id)
    set_state(tx, session_id, state)
    tx.record(f"session_{state}", session=session_id, dead=[batch for _, batch in dead], **details)


def end_all(tx: Transaction) -> Ended:
    """End every open session, one after the other; what no answer was stored for is dead."""
    names = sorted(lock_open(tx.connection))
    ended = [(name, [int(batch) for _, batch in dead_batches.bury_all(tx, [name])]) for name in names]
    change_all(tx, names, state="ended")
    return ended


def begin_epoch(tx: Transaction) -> int:
    """Raise the ledger's epoch, so that every party must reconcile, and return it.

    What was kept of votes may have been published in the history that was lost: published again, with other
    noise, it would be known better than the ledger says. So it is kept no longer.
    """
    tx.connection.execute(update(charges).where(charges.c.vote_total.is_not(None)).values(vote_total=None))
    raised = update(meta).values(epoch=meta.c.epoch + 1).returning(meta.c.epoch)
    return int(tx.connection.execute(raised).scalar_one())
