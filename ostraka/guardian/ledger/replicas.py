"""Guardian processes that share a ledger, and which of them holds which session.

Every open session is pinned to the process that has its shares in memory. A process that changes a session
locks its row and must find its own number there, so a process that slept while another one adopted the
session writes nothing. Leases only determine how long the others wait: clocks that differ cost availability,
never a budget.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, bindparam, delete, insert, select, true, update

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger.sessions import endings, sessions
from ostraka.guardian.ledger.store.schema import batches as batch_table
from ostraka.guardian.ledger.store.schema import meta, replicas
from ostraka.guardian.ledger.store.schema import sessions as session_table
from ostraka.guardian.ledger.store.session_values import StoredSession
from ostraka.guardian.ledger.transaction import Transaction

_NOBODY = 0
"""The holder of sessions that a migration left to the next replica."""
_REPLICA = select(replicas).where(replicas.c.number == bindparam("sought"))
"""Built once, because it begins every transaction."""


def enter(tx: Transaction, address: str, lease_ms: int, *, shared: bool) -> int:
    """Make the caller a replica, and return its number, larger than every one before.

    It supersedes replicas whose lease is over and the one with the same address, and on a database that is
    not `shared` all of them; it adopts their sessions.
    """
    gone = _lease_is_over(tx) if shared else true()
    if address:
        gone |= replicas.c.address == address
    held = _supersede(tx, gone)
    dead = endings.bury_all(tx, held)
    number = _raise_fence(tx)
    sessions.change_all(tx, held, holder=number)
    tx.connection.execute(
        insert(replicas).values(number=number, address=address, lease_until_unix_ms=tx.now_ms + lease_ms)
    )
    tx.record("opened", fence=number, dead=dead)
    return number


def renew(tx: Transaction, lease_ms: int, name: str) -> None:
    """Extend this replica's lease, and adopt the sessions of replicas whose lease is over.

    Raises:
        OstrakaError: `ledger.fenced` if another replica superseded this one.
    """
    own = update(replicas).where(replicas.c.number == tx.replica)
    if tx.connection.execute(own.values(lease_until_unix_ms=tx.now_ms + lease_ms)).rowcount == 0:
        raise _fence_error(name)
    held = _supersede(tx, _lease_is_over(tx))
    if held:
        dead = endings.bury_all(tx, held)
        sessions.change_all(tx, held, holder=tx.replica)
        tx.record("sessions_adopted", sessions=held, dead=dead)


def leave(connection: Connection, number: int) -> None:
    """Release a replica's sessions to the next replica that gets a request for them."""
    connection.execute(delete(replicas).where(replicas.c.number == number))


def fence_all(tx: Transaction) -> int:
    """Fence every replica, leave all sessions to the next replica that enters, and return the new fence."""
    tx.connection.execute(delete(replicas))
    sessions.change_all(tx, sessions.lock_open(tx.connection), holder=_NOBODY)
    return _raise_fence(tx)


def require_current(connection: Connection, number: int, name: str) -> None:
    """Raise `ledger.fenced` if another replica superseded this one."""
    if _find(connection, number) is None:
        raise _fence_error(name)


def is_held(connection: Connection, session_id: str, number: int) -> bool:
    """Whether a replica may answer for a session in its present state."""
    row = sessions.find_row(connection, session_id)
    return bool(row.state != "open" or row.holder == number)


def hold(tx: Transaction, session_id: str) -> StoredSession | None:
    """Lock a session that this replica holds; or adopt it from a replica that is gone, and return None.

    An adoption must be committed before anything else happens, so that nothing undoes what it did to the
    session's batches. A session that is not open is in no replica's memory, and every replica may answer for
    it.

    Raises:
        OstrakaError: `session.unknown`; `session.elsewhere` (detail `address`) if another replica holds it.
    """
    row = sessions.find_row(tx.connection, session_id, lock=True)
    if row.state != "open" or row.holder == tx.replica:
        return sessions.session_of(row)
    holder = _find(tx.connection, row.holder)
    if holder is not None and holder.lease_until_unix_ms >= tx.now_ms:
        raise _elsewhere(session_id, holder.address)
    dead = endings.bury(tx, batch_table.c.session_id == session_id)
    same = session_table.c.session_id == session_id
    tx.connection.execute(update(session_table).where(same).values(holder=tx.replica))
    tx.record("sessions_adopted", sessions=[session_id], dead=dead)
    return None


def _lease_is_over(tx: Transaction) -> ColumnElement[bool]:
    return replicas.c.lease_until_unix_ms < tx.now_ms


def _supersede(tx: Transaction, gone: ColumnElement[bool]) -> list[str]:
    """Remove replicas, lock their open sessions, and return the sessions' ids."""
    numbers = tx.connection.scalars(delete(replicas).where(gone).returning(replicas.c.number)).all()
    return sessions.lock_open(tx.connection, session_table.c.holder.in_([_NOBODY, *numbers]))


def _raise_fence(tx: Transaction) -> int:
    raised = update(meta).values(fence=meta.c.fence + 1).returning(meta.c.fence)
    return int(tx.connection.execute(raised).scalar_one())


def _find(connection: Connection, number: int) -> Row[Any] | None:
    return connection.execute(_REPLICA, {"sought": number}).one_or_none()


def _fence_error(name: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.LEDGER_FENCED,
        f"Another guardian took over from this one on the ledger {name}; stop this one.",
    )


def _elsewhere(session_id: str, address: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.SESSION_ELSEWHERE,
        f"Session {session_id} is served by the guardian at {address or 'another address'}; go on there.",
        address=address,
    )
