"""Sessions, as stored in the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, insert, select, true, update

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger.log.audit import sha256
from ostraka.guardian.ledger.members import limits
from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.store.schema import batches, sessions
from ostraka.guardian.ledger.store.session_values import SessionSummary, StoredSession
from ostraka.guardian.ledger.transaction import Transaction

SessionRow = Row[Any]
_IDS_AT_ONCE = 5000
"""Sessions that one statement names; SQLite's limit is 32,766 parameters."""


def open_session(
    tx: Transaction, asked: StoredSession, *, most_open: int | None = None, within_s: float = 0.0
) -> StoredSession:
    """Store an open session under a new id, or return its querier's earlier session with this plan.

    Args:
        tx: behind the fence.
        asked: the session.
        most_open: open sessions younger than `within_s` seconds that its querier may have.
        within_s: how long a session accepts queries.

    Raises:
        OstrakaError: `policy.open_limit`.
    """
    before = find_by_plan(tx, asked.querier, asked.plan_digest)
    if before is not None:
        return before
    limits.check_sessions_in_day(tx.connection, asked.querier, tx.now_ms)
    if most_open is not None:
        limits.check_open_sessions(tx.connection, asked.querier, tx.now_ms - int(within_s * 1000), most_open)
    tx.connection.execute(
        insert(sessions).values(
            session_id=asked.session_id,
            querier=asked.querier,
            plan=asked.plan,
            plan_digest=asked.plan_digest,
            grant_bytes=asked.grant,
            state="open",
            queries=asked.queries,
            asked=0,
            opened_unix_ms=tx.now_ms,
            holder=tx.replica,
        )
    )
    tx.record(
        "session_opened",
        session=asked.session_id,
        querier=asked.querier,
        plan_digest=asked.plan_digest.hex(),
        plan_sha256=sha256(asked.plan),
        grant_sha256=sha256(asked.grant),
        queries=asked.queries,
    )
    return asked


def find_session(view: View, session_id: str) -> StoredSession:
    """Return a session by its id, or raise `session.unknown`."""
    return session_of(find_row(view.connection, session_id))


def find_row(connection: Connection, session_id: str, *, lock: bool = False) -> SessionRow:
    """Return a session's row, locked if this transaction may change it, or raise `session.unknown`."""
    statement = select(sessions).where(sessions.c.session_id == session_id)
    row = connection.execute(statement.with_for_update() if lock else statement).one_or_none()
    if row is None:
        raise OstrakaError(
            ErrorCode.SESSION_UNKNOWN,
            f"There is no session {session_id!r}; `ostraka guardian session list` tells which there are.",
        )
    return row


def find_by_plan(view: View, querier: str, plan_digest: bytes) -> StoredSession | None:
    """Return the session that `querier` opened with this plan, if there is one."""
    same = (sessions.c.querier == querier) & (sessions.c.plan_digest == plan_digest)
    row = view.connection.execute(select(sessions).where(same)).one_or_none()
    return None if row is None else session_of(row)


def require_open(session: StoredSession) -> None:
    """Raise `session.ended` or `session.closed` unless the session is open."""
    if session.state == "ended":
        raise session_ended(session.session_id)
    if session.state == "closed":
        raise OstrakaError(
            ErrorCode.SESSION_CLOSED, f"Session {session.session_id} is closed; open a new one to ask more."
        )


def session_ended(session_id: str) -> OstrakaError:
    """Return the error for an ended session; it must say only that the session ended."""
    return OstrakaError(
        ErrorCode.SESSION_ENDED, f"Session {session_id} has ended; the labels released before stay valid."
    )


def add_asked(tx: Transaction, session_id: str, queries: int) -> None:
    """Count queries of a session's batches, or (below 0) of its batches that died."""
    same = sessions.c.session_id == session_id
    tx.connection.execute(update(sessions).where(same).values(asked=sessions.c.asked + queries))


def set_state(tx: Transaction, session_id: str, state: str) -> None:
    """Store a session's state."""
    tx.connection.execute(update(sessions).where(sessions.c.session_id == session_id).values(state=state))


def lock_open(connection: Connection, where: ColumnElement[bool] | None = None) -> list[str]:
    """Lock the open sessions that match, and return their ids.

    The caller must change only these: another guardian may open one more at any moment.
    """
    matching = (sessions.c.state == "open") & (true() if where is None else where)
    statement = select(sessions.c.session_id).where(matching).order_by(sessions.c.session_id)
    return list(connection.scalars(statement.with_for_update()))


def change_all(tx: Transaction, session_ids: Sequence[str], **values: Any) -> None:
    """Store the same new values in many sessions, which the caller has locked."""
    for part in parts(session_ids):
        tx.connection.execute(update(sessions).where(sessions.c.session_id.in_(part)).values(values))


def parts(session_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the ids in parts as large as one statement takes."""
    return (session_ids[start : start + _IDS_AT_ONCE] for start in range(0, len(session_ids), _IDS_AT_ONCE))


def summaries(
    view: View, querier: str | None = None, most: int | None = None, session_id: str | None = None
) -> list[SessionSummary]:
    """Sessions in the order of their opening: all, the latest `most` of one querying party, or just one.

    A batch counts as asked until it is dead.
    """
    answered = select(func.coalesce(func.sum(batches.c.answered), 0))
    answered = answered.where(batches.c.session_id == sessions.c.session_id)
    statement = (
        select(sessions, answered.scalar_subquery().label("answered"))
        .order_by(sessions.c.opened_unix_ms.desc(), sessions.c.session_id.desc())
        .where(true() if querier is None else sessions.c.querier == querier)
        .where(true() if session_id is None else sessions.c.session_id == session_id)
        .limit(most)
    )
    found = [
        SessionSummary(
            session_id=row.session_id,
            querier=row.querier,
            state=row.state,
            queries=row.queries,
            asked=row.asked,
            answered=int(row.answered),
            opened_unix_s=row.opened_unix_ms // 1000,
        )
        for row in view.connection.execute(statement)
    ]
    return found[::-1]


def ids(view: View) -> list[str]:
    """Return the ids of all sessions."""
    return list(view.connection.scalars(select(sessions.c.session_id)))


def count_open(view: View) -> int:
    """Count the sessions that are open."""
    is_open = select(func.count()).where(sessions.c.state == "open")
    return int(view.connection.execute(is_open).scalar_one())


def session_of(row: SessionRow) -> StoredSession:
    """Return the public part of a session's row."""
    return StoredSession(
        session_id=row.session_id,
        querier=row.querier,
        plan=row.plan,
        plan_digest=row.plan_digest,
        grant=row.grant_bytes,
        state=row.state,
        queries=row.queries,
    )
