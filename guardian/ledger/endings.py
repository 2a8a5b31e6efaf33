"""Sessions that end, one or all of them, with their batches that have no answers."""

from __future__ import annotations

from sqlalchemy import select, update

from guardian.ledger import batches
from guardian.ledger.schema import batches as batch_table
from guardian.ledger.schema import meta, sessions
from guardian.ledger.sessions import find_row, set_state
from guardian.ledger.transaction import Transaction

Ended = list[tuple[str, list[int]]]
"""Sessions by id, each with the batches that became dead with it."""


def cancel(tx: Transaction, session_id: str, *, reason: str) -> None:
    """End an open session for an administrator. See `Administration.cancel_session`."""
    if find_row(tx.connection, session_id, lock=True).state == "open":
        end(tx, session_id, "ended", reason=reason)


def end(tx: Transaction, session_id: str, state: str, **details: str) -> None:
    """Close or end a session that is locked; its batches without answers become dead."""
    dead = batches.bury(tx, batch_table.c.session_id == session_id)
    set_state(tx, session_id, state)
    tx.record(f"session_{state}", session=session_id, dead=[batch for _, batch in dead], **details)


def end_all(tx: Transaction) -> Ended:
    """End every open session; what no answer was stored for is dead, uncharged."""
    is_open = sessions.c.state == "open"
    statement = select(sessions.c.session_id).where(is_open).order_by(sessions.c.session_id)
    ended: dict[str, list[int]] = {name: [] for name in tx.connection.scalars(statement.with_for_update())}
    for session, batch in batches.bury(tx, batch_table.c.session_id.in_(statement)):
        ended[str(session)].append(int(batch))
    tx.connection.execute(update(sessions).where(is_open).values(state="ended"))
    return sorted(ended.items())


def begin_epoch(tx: Transaction) -> int:
    """Raise the ledger's epoch, so that every party must reconcile, and return it."""
    raised = update(meta).values(epoch=meta.c.epoch + 1).returning(meta.c.epoch)
    return int(tx.connection.execute(raised).scalar_one())
