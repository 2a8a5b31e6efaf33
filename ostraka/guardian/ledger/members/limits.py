"""Limits of a session, and daily limits of querying parties and parties."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, exists, func, select

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.store.schema import batches, evaluations, manifests, sessions
from ostraka.guardian.ledger.store.session_values import StoredSession
from ostraka.guardian.ledger.transaction import Transaction

DAY_MS = 24 * 3600 * 1000
MANIFESTS_A_DAY = 20
"""Manifest changes allowed to a party in 24 hours; each is kept for good."""
SESSIONS_A_DAY = 1000
"""Sessions that a querying party may open in 24 hours; each is kept for good."""
MAX_DEAD = 1000
"""Batches of a session that may die, with or without a ticket; each is kept for good."""


def check_session(connection: Connection, session: StoredSession, size: int) -> None:
    """Raise `batch.too_large` unless the session may ask `size` more queries."""
    if size < 1:
        raise OstrakaError(ErrorCode.MESSAGE_INVALID, f"A batch has at least one query, not {size}.")
    same = sessions.c.session_id == session.session_id
    left = session.queries - int(connection.execute(select(sessions.c.asked).where(same)).scalar_one())
    if size > left:
        raise OstrakaError(
            ErrorCode.BATCH_TOO_LARGE,
            f"The session may ask {left} more of its {session.queries} queries, but this batch has "
            f"{size}; send a smaller batch or open another session.",
            left=str(max(0, left)),
        )


def check_day(tx: Transaction, querier: str, size: int, limit: int) -> None:
    """Raise `policy.daily_limit` if the last day's batches, including this one, have more queries.

    Several guardians may serve one querying party's sessions, so the log is locked first: no other batch is
    added until this transaction ends.
    """
    audit.lock(tx.connection)
    asked = queries_in_day(tx, querier, tx.now_ms)
    if asked > limit:
        left = max(0, limit - asked + size)
        raise OstrakaError(
            ErrorCode.POLICY_DAILY_LIMIT,
            f"The policy allows {limit} queries in 24 hours, of which {left} are left; send a smaller batch,"
            " or go on later.",
            left=str(left),
        )


def check_manifests(tx: Transaction, sites: Sequence[str]) -> None:
    """Raise `manifest.daily_limit` if one of `sites` has used up its manifest changes in 24 hours."""
    if not sites:
        return
    recent = manifests.c.site.in_(sites) & (manifests.c.registered_unix_ms > tx.now_ms - DAY_MS)
    found = select(manifests.c.site, func.count().label("found")).where(recent).group_by(manifests.c.site)
    row = tx.connection.execute(found.having(func.count() >= MANIFESTS_A_DAY)).first()
    if row is not None:
        raise OstrakaError(
            ErrorCode.MANIFEST_DAILY_LIMIT,
            f"Party {row.site} registered {row.found} manifests in 24 hours, and more are not taken; serve"
            " the teachers that were registered last, or register later.",
        )


def check_open_sessions(connection: Connection, querier: str, since_ms: int, most: int) -> None:
    """Raise `policy.open_limit` if a querying party has reached its limit of open sessions.

    A session that was opened before `since_ms` accepts no more queries, whether or not it was closed.
    """
    open_now = (sessions.c.querier == querier) & (sessions.c.state == "open")
    found = select(func.count()).where(open_now, sessions.c.opened_unix_ms > since_ms)
    if int(connection.execute(found).scalar_one()) >= most:
        raise OstrakaError(
            ErrorCode.POLICY_OPEN_LIMIT,
            f"The policy allows a querying party {most} open sessions at a time; finish some by repeating"
            " their commands, or wait until their grants expire.",
        )


def check_sessions_in_day(connection: Connection, querier: str, now_ms: int) -> None:
    """Raise `policy.open_limit` if a querying party has reached its limit of sessions in 24 hours."""
    recent = (sessions.c.querier == querier) & (sessions.c.opened_unix_ms > now_ms - DAY_MS)
    found = int(connection.execute(select(func.count()).select_from(sessions).where(recent)).scalar_one())
    if found >= SESSIONS_A_DAY:
        raise OstrakaError(
            ErrorCode.POLICY_OPEN_LIMIT,
            f"A querying party may open {SESSIONS_A_DAY} sessions in 24 hours, and this one opened {found};"
            " ask more queries in a session, or go on later.",
        )


def check_open_batches(connection: Connection, querier: str, most: int) -> None:
    """Raise `policy.open_limit` if a querying party has reached its limit of open tickets."""
    ticketed = (
        (sessions.c.querier == querier) & (sessions.c.state == "open") & (batches.c.state == "ticketed")
    )
    found = select(func.count()).select_from(batches.join(sessions)).where(ticketed)
    if int(connection.execute(found).scalar_one()) >= most:
        raise OstrakaError(
            ErrorCode.POLICY_OPEN_LIMIT,
            f"The policy allows a querying party {most} batches under way at a time; settle some, or wait"
            " until their tickets expire.",
        )


def check_dead(connection: Connection, session_id: str) -> None:
    """Raise `policy.open_limit` if a session has reached its limit of dead batches."""
    died = (batches.c.session_id == session_id) & (batches.c.state == "dead")
    found = select(func.count()).select_from(batches).where(died)
    if int(connection.execute(found).scalar_one()) >= MAX_DEAD:
        raise OstrakaError(
            ErrorCode.POLICY_OPEN_LIMIT,
            f"{MAX_DEAD} batches of the session died, which is the limit; open another session.",
        )


def queries_in_day(view: View, querier: str, now_ms: int) -> int:
    """Count the queries in one querying party's batches of the 24 hours before `now_ms`.

    A dead batch counts if a blind tally checked it, which revealed what passed, or if a party evaluated it.
    """
    recent = batches.c.opened_unix_ms > now_ms - DAY_MS
    evaluated = exists().where(evaluations.c.batch == batches.c.id)
    told = (batches.c.state != "dead") | batches.c.check_digest.is_not(None) | evaluated
    statement = (
        select(func.coalesce(func.sum(batches.c.size), 0))
        .select_from(batches.join(sessions))
        .where(recent, sessions.c.querier == querier, told)
    )
    return int(view.connection.execute(statement).scalar_one())
