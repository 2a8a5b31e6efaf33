"""Sessions and batches as read from the ledger."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StoredSession:
    """A session as opened; `state` is "open", "closed" or "ended", `queries` is its limit of queries.

    `plan_digest` is the SHA-256 of the plan's bytes, `grant` a serialized SignedList.
    """

    session_id: str
    querier: str
    plan: bytes
    plan_digest: bytes
    grant: bytes
    queries: int
    state: str = "open"


@dataclass(frozen=True)
class SessionSummary:
    """A session's state and counts of queries: planned, in live batches, answered."""

    session_id: str
    querier: str
    state: str
    queries: int
    asked: int
    answered: int
    opened_unix_s: int


@dataclass(frozen=True)
class StoredBatch:
    """A batch's ticket and `state`: "ticketed", "released" (then with answers) or "dead"."""

    session_id: str
    batch_id: int
    size: int
    ticket: bytes
    state: str
    answers: bytes | None
