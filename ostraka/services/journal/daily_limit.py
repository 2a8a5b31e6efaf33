"""Daily query limit of each querying party, from the journal."""

import sqlite3
from dataclasses import dataclass

from ostraka.common.errors import ErrorCode, OstrakaError

DAY_S = 24 * 3600.0


@dataclass(frozen=True)
class QueryCount:
    """What a batch asked for: whose it is, by certificate URI, and how many queries it has."""

    querier: str
    queries: int


def record_queries(
    db: sqlite3.Connection, session_id: str, batch_id: int, count: QueryCount, now: float
) -> None:
    """Add an answered batch to what was asked at `now`, in Unix seconds."""
    row = (session_id, str(batch_id), count.querier, count.queries, now)
    db.execute("INSERT INTO asked VALUES (?, ?, ?, ?, ?)", row)


def check_day(db: sqlite3.Connection, count: QueryCount, limit: int, now: float) -> None:
    """Raise `policy.daily_limit` (detail `left`) where a batch asks for more than is left in 24 hours.

    The 24 hours before `now` count, and whatever a clock that was ahead put after it.
    """
    recent = "SELECT COALESCE(SUM(queries), 0) FROM asked WHERE querier = ? AND recorded_unix_s > ?"
    (before,) = db.execute(recent, (count.querier, now - DAY_S)).fetchone()
    left = max(0, limit - before)
    if count.queries > left:
        raise OstrakaError(
            ErrorCode.POLICY_DAILY_LIMIT,
            f"This party answers {limit} queries of a querying party in 24 hours, of which {left} are left: "
            "send a smaller batch, go on later, or go on without this party.",
            left=str(left),
        )


def queries_in_day(db: sqlite3.Connection, now: float) -> dict[str, int]:
    """Count each querying party's queries, by certificate URI, answered in the 24 hours before `now`."""
    recent = "SELECT querier, SUM(queries) FROM asked WHERE recorded_unix_s > ? GROUP BY querier"
    return dict(db.execute(recent, (now - DAY_S,)).fetchall())
