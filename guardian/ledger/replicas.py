"""Guardian processes that share a ledger, and which of them holds which session.

Every open session is pinned to the process that keeps its shares in memory. Whoever changes a session locks
its row and finds its own number there, so a process that slept while another one adopted the session writes
nothing. Leases only say how long the others wait: clocks that are apart cost availability, never a budget.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from common.errors import ErrorCode, OstrakaError
from guardian.ledger import batches, sessions
from guardian.ledger.schema import batches as batch_table
from guardian.ledger.schema import meta, replicas
from guardian.ledger.schema import sessions as session_table
from guardian.ledger.transaction import Transaction
from guardian.ledger.values import StoredSession


def enter(tx: Transaction, address: str, lease_ms: int, *, shared: bool) -> int:
    """Make the caller a replica, and return its number, larger than every one before.

    It supersedes those whose lease is over and the one of the same address; on a database that is not
    `shared` all of them, and then it holds their sessions.
    """
    gone = replicas.c.lease_until_unix_ms < tx.now_ms
    if address:
        gone |= replicas.c.address == address
    tx.connection.execute(delete(replicas).where(gone) if shared else delete(replicas))
    number = int(
        tx.connection.execute(
            update(meta).values(fence=meta.c.fence + 1).returning(meta.c.fence)
        ).scalar_one()
    )
    tx.connection.execute(
        insert(replicas).values(number=number, address=address, lease_until_unix_ms=tx.now_ms + lease_ms)
    )
    if shared:
        dead = []
    else:
        dead = batches.bury(tx)
        tx.connection.execute(
            update(session_table).where(session_table.c.state == "open").values(holder=number)
        )
    tx.record("opened", fence=number, dead=dead)
    return number


def renew(connection: Connection, number: int, until_ms: int, name: str) -> None:
    """Prolong a replica's lease, or raise `ledger.fenced` where another one superseded it."""
    own = replicas.c.number == number
    renewed = connection.execute(update(replicas).where(own).values(lease_until_unix_ms=until_ms))
    if renewed.rowcount == 0:
        raise _fenced(name)


def leave(connection: Connection, number: int) -> None:
    """Give a replica's sessions to whoever is asked for them next."""
    connection.execute(delete(replicas).where(replicas.c.number == number))


def require_current(connection: Connection, number: int, name: str) -> None:
    """Raise `ledger.fenced` if another replica superseded this one."""
    if _find(connection, number) is None:
        raise _fenced(name)


def is_held(connection: Connection, session_id: str, number: int) -> bool:
    """Whether a replica may answer for a session as it is."""
    row = sessions.find_row(connection, session_id)
    return bool(row.state != "open" or row.holder == number)


def hold(tx: Transaction, session_id: str) -> StoredSession:
    """Lock a session for this replica, which adopts it if its holder is gone.

    A session that is not open is in nobody's memory and may be answered for by every replica.

    Raises:
        OstrakaError: `session.unknown`; `session.elsewhere` (detail `address`) if another replica holds it.
    """
    row = sessions.find_row(tx.connection, session_id, lock=True)
    if row.state == "open" and row.holder != tx.replica:
        _adopt(tx, row)
    return sessions.stored(row)


def _adopt(tx: Transaction, session: Row[Any]) -> None:
    holder = _find(tx.connection, session.holder)
    if holder is not None:
        if holder.lease_until_unix_ms >= tx.now_ms:
            raise _elsewhere(session.session_id, holder.address)
        leave(tx.connection, holder.number)
    same = session_table.c.session_id == session.session_id
    tx.connection.execute(update(session_table).where(same).values(holder=tx.replica))
    dead = batches.bury(tx, batch_table.c.session_id == session.session_id)
    tx.record("session_adopted", session=session.session_id, dead=[batch for _, batch in dead])


def _find(connection: Connection, number: int) -> Row[Any] | None:
    return connection.execute(select(replicas).where(replicas.c.number == number)).one_or_none()


def _fenced(name: str) -> OstrakaError:
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
