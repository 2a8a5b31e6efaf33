"""The limits of a party: the worst-case cost of its batches, and the queries of a querying party in a day."""

import sqlite3
from dataclasses import dataclass
from typing import Self

from pydantic import TypeAdapter

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Mechanism

ALL = "all"
"""The group of a party's records that share one budget."""
_MECHANISM = TypeAdapter(Mechanism)


@dataclass(frozen=True)
class GroupCharge:
    """Worst-case cost of a batch to the records of one group.

    Attributes:
        mechanism: how the batch is answered.
        queries: number of queries on which teachers of the group vote.
        classes: number of the task's classes or labels.
        sensitivity: how much one person's records of the group change in one query, in votes.
        group: the group's name.
        adjacency: the unit of the charge, a "record" or a "label".
    """

    mechanism: Mechanism
    queries: int
    classes: int
    sensitivity: float = 1.0
    group: str = ALL
    adjacency: str = "record"

    def amount(self, order: float) -> int:
        """Return worst-case rdp at `order` as an integer of `ostraka.common.privacy.AMOUNT_UNIT`, rounded
        up."""
        cost = self.mechanism.worst_case(order, self.sensitivity, classes=self.classes)
        return cost.reservation(self.queries, self.mechanism.answers(self.classes))

    @property
    def mechanism_json(self) -> str:
        """The mechanism in the journal's format."""
        return _MECHANISM.dump_json(self.mechanism).decode()

    @classmethod
    def of_json(
        cls, mechanism: str, queries: int, classes: int, sensitivity: float, group: str, adjacency: str
    ) -> Self:
        """Parse a charge from the journal's format."""
        return cls(_MECHANISM.validate_json(mechanism), queries, classes, sensitivity, group, adjacency)


@dataclass(frozen=True)
class Cap:
    """Maximum charge to any one record here, ever: an integer amount at one Renyi order."""

    order: float
    amount: int


DAY_S = 24 * 3600.0


@dataclass(frozen=True)
class QueryCount:
    """The size of a batch: its querying party, by certificate URI, and its number of queries."""

    querier: str
    queries: int


def record_queries(
    db: sqlite3.Connection, session_id: str, batch_id: int, count: QueryCount, now: float
) -> None:
    """Record the queries of a batch answered at `now`, in Unix seconds."""
    row = (session_id, str(batch_id), count.querier, count.queries, now)
    db.execute("INSERT INTO asked VALUES (?, ?, ?, ?, ?)", row)


def check_day(db: sqlite3.Connection, count: QueryCount, limit: int, now: float) -> None:
    """Raise `policy.daily_limit` (detail `left`) if a batch asks for more than is left in 24 hours.

    The 24 hours before `now` count, and any entries after it, from a clock that was ahead.
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
