"""How many queries a session, and a querying party in a day, may ask."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from common.errors import ErrorCode, OstrakaError
from guardian.ledger import audit
from guardian.ledger.schema import batches, sessions
from guardian.ledger.transaction import Transaction
from guardian.ledger.values import StoredSession

DAY_MS = 24 * 3600 * 1000


def check_session(connection: Connection, session: StoredSession, size: int) -> None:
    """Raise `batch.too_large` unless the session may ask `size` more queries."""
    if size < 1:
        raise OstrakaError(ErrorCode.MESSAGE_INVALID, f"A batch has at least one query, not {size}.")
    same = sessions.c.session_id == session.session_id
    left = session.queries - int(connection.execute(select(sessions.c.asked).where(same)).scalar_one())
    if size > left:
        raise OstrakaError(
            ErrorCode.BATCH_TOO_LARGE,
            f"The session may ask {left} more of its {session.queries} queries, and this batch has {size};"
            " send a smaller batch or open another session.",
            left=str(max(0, left)),
        )


def check_day(tx: Transaction, querier: str, size: int, limit: int) -> None:
    """Raise `policy.daily_limit` if the last day's batches, this one among them, have more queries.

    Sessions of one querying party may be served by several guardians, so the log is locked first: until
    this transaction ends no other batch is added.
    """
    audit.lock(tx.connection)
    asked = asked_in_day(tx.connection, querier, tx.now_ms)
    if asked > limit:
        left = max(0, limit - asked + size)
        raise OstrakaError(
            ErrorCode.POLICY_DAILY_LIMIT,
            f"The policy allows {limit} queries in 24 hours, of which {left} are left; send a smaller batch,"
            " or go on later.",
            left=str(left),
        )


def asked_in_day(connection: Connection, querier: str, now_ms: int) -> int:
    """Queries in the last day's batches of one querying party.

    A dead batch counts if a blind tally checked it: which queries passed was told.
    """
    recent = batches.c.opened_unix_ms > now_ms - DAY_MS
    told = (batches.c.state != "dead") | batches.c.check_digest.is_not(None)
    statement = (
        select(func.coalesce(func.sum(batches.c.size), 0))
        .select_from(batches.join(sessions))
        .where(recent, sessions.c.querier == querier, told)
    )
    return int(connection.execute(statement).scalar_one())
