"""Sessions from the ledger, and the batches that are open in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity
from ostraka.common.mechanism import BOUND
from ostraka.common.plan.plan import Plan
from ostraka.common.plan.signed_lists import read_grant
from ostraka.guardian.ledger import Ledger, StoredBatch, StoredSession
from ostraka.guardian.ledger.sessions import batches, sessions
from ostraka.guardian.sessions.batch import Batch
from ostraka.guardian.sessions.refusals import no_ticket, not_open, session_ended
from ostraka.protos.ostraka.v1 import common_pb2

_GONE = frozenset({ErrorCode.SESSION_ENDED, ErrorCode.SESSION_ELSEWHERE, ErrorCode.LEDGER_FENCED})
"""Errors after which this process has nothing more to do with a session, even if its caller asks again."""
_PARSED = 16
"""Number of parsed grants in memory, as for plans: every call of a session brings the same one."""
KEPT = 4
"""Blindly tallied batches of a session that are kept for retries after their release; older ones are gone."""


@dataclass(frozen=True)
class Session:
    """A session with its plan and grant parsed."""

    session_id: str
    querier: str
    state: str
    plan: Plan
    grant: common_pb2.Grant

    @property
    def ends_at(self) -> float:
        """Unix seconds after which the grant is refused."""
        return float(self.grant.expires_unix_s + self.grant.allowed_skew_s)

    @property
    def bound(self) -> BOUND:
        """How its data-dependent charges are computed, according to the grant."""
        return cast(BOUND, self.grant.bound)

    def check_querier(self, querier: Identity) -> None:
        """Raise `session.unknown` for anyone but the party that opened the session."""
        if querier.uri != self.querier:
            raise unknown(self.session_id)

    def check_open(self, now: float) -> None:
        """Raise `session.ended`, `session.closed` or `grant.expired` unless batches may be requested."""
        if self.state == "ended":
            raise session_ended()
        if self.state == "closed":
            raise OstrakaError(ErrorCode.SESSION_CLOSED, "The session is closed; open a new one.")
        if now > self.ends_at:
            raise OstrakaError(ErrorCode.GRANT_EXPIRED, "The session's grant has expired; open a new one.")


def unknown(session_id: str) -> OstrakaError:
    """Return the error for another site's session, which equals the error for an unknown session."""
    return OstrakaError(ErrorCode.SESSION_UNKNOWN, f"Session {session_id!r} is unknown here; label again.")


def load_session(ledger: Ledger, session_id: str) -> Session:
    """Load the session from the ledger; raise `session.unknown` or `session.elsewhere`."""
    return _parse(ledger.read_session(session_id, sessions.find_session))


def load_session_of(ledger: Ledger, querier: Identity, session_id: str) -> Session:
    """Load the session that `querier` opened; raise `session.unknown`."""
    session = load_session(ledger, session_id)
    session.check_querier(querier)
    return session


def recall_batch(ledger: Ledger, session_id: str, batch_id: int) -> tuple[Session, StoredBatch | None]:
    """Return a session and its batch (None if never opened), read again if anything changed since.

    Raises `session.unknown` or `session.elsewhere`, and `message.invalid` for an id that no batch can have.
    """
    batches.check_batch_id(batch_id)
    record, batch = ledger.recall_session(session_id, batches.with_session, batch_id)
    return _parse(record), batch


def load_batch_of(
    ledger: Ledger, querier: Identity, session_id: str, batch_id: int
) -> tuple[Session, StoredBatch | None]:
    """Load both in one read, for a session that `querier` opened; raise `session.unknown` for others."""
    batches.check_batch_id(batch_id)
    record, batch = ledger.read_session(session_id, batches.with_session, batch_id)
    session = _parse(record)
    session.check_querier(querier)
    return session, batch


def _parse(record: StoredSession) -> Session:
    return Session(
        record.session_id, record.querier, record.state, Plan.parse(record.plan), _grant(record.grant)
    )


@lru_cache(_PARSED)
def _grant(signed: bytes) -> common_pb2.Grant:
    return read_grant(signed)


class OpenBatches:
    """Thread-safe map of the batches whose shares this process holds."""

    def __init__(self) -> None:
        # Guards only the map, for a moment; work on a batch happens under the batch's own lock.
        self._lock = threading.Lock()
        self._batches: dict[tuple[str, int], Batch] = {}

    @property
    def under_way(self) -> int:
        """Number of batches that are not released yet."""
        with self._lock:
            return sum(not batch.is_released for batch in self._batches.values())

    def add(self, session_id: str, batch_id: int, batch: Batch) -> bool:
        """Keep `batch` unless one is open under this id; return whether it is kept."""
        with self._lock:
            kept = self._batches.setdefault((session_id, batch_id), batch)
        if kept is not batch:
            batch.noise.drop()
        return kept is batch

    def get(self, session_id: str, batch_id: int) -> Batch | None:
        """Return the open batch, or None."""
        with self._lock:
            return self._batches.get((session_id, batch_id))

    def require(self, session_id: str, batch_id: int, same: Batch | None = None) -> Batch:
        """Return the open batch, which must be `same` if that is given; raise `batch.dead`."""
        batch = self.get(session_id, batch_id)
        if batch is None or (same is not None and batch is not same):
            raise not_open()
        return batch

    @contextmanager
    def forgetting(self, session_id: str, batch_id: int) -> Iterator[None]:
        """Forget a batch or session if an error of the block says that this process no longer has it."""
        try:
            yield
        except OstrakaError as exc:
            if exc.code in _GONE:
                self.drop_session(session_id)
            if exc.code is ErrorCode.BATCH_DEAD:
                self.drop(session_id, batch_id)
            raise

    def find_expired(self, now: float) -> list[tuple[str, int, Batch]]:
        """Return the batches that can no longer be released, by session and batch id."""
        with self._lock:
            return [(*key, batch) for key, batch in self._batches.items() if batch.dies_at < now]

    def keep_released(self, session_id: str, batch_id: int) -> None:
        """Keep a blindly tallied batch only for retries, and forget the oldest of these beyond `KEPT`."""
        with self._lock:
            batch = self._batches.pop((session_id, batch_id), None)
            if batch is not None:
                batch.note_blind_release()
                self._batches[session_id, batch_id] = batch
            done = [key for key, kept in self._batches.items() if key[0] == session_id and kept.is_released]
        for key in done[:-KEPT]:
            self.drop(*key)

    def drop(self, session_id: str, batch_id: int) -> None:
        """Forget a batch, its shares and the noise drawn for it."""
        with self._lock:
            batch = self._batches.pop((session_id, batch_id), None)
        if batch is not None:
            batch.noise.drop()

    def drop_session(self, session_id: str) -> None:
        """Forget all batches of a session."""
        with self._lock:
            ids = [batch_id for known, batch_id in self._batches if known == session_id]
        for batch_id in ids:
            self.drop(session_id, batch_id)


@dataclass(frozen=True)
class TicketedBatch:
    """A batch and its session as they were in the ledger when the call began.

    Attributes:
        session: the batch's session.
        batch_id: unique in the session.
        size: its number of queries.
        released: whether it had answers at that time. A batch without answers may have some by now.
    """

    session: Session
    batch_id: int
    size: int
    released: bool

    @classmethod
    def of(cls, session: Session, batch_id: int, stored: StoredBatch | None) -> TicketedBatch:
        """Return the batch as `stored`; raise `ticket.invalid` if it was never opened."""
        if stored is None:
            raise no_ticket(batch_id)
        return cls(session, batch_id, stored.size, stored.state == "released")

    @property
    def plan(self) -> Plan:
        """Its session's plan, which also determines the form of its shares."""
        return self.session.plan

    @property
    def key(self) -> tuple[str, int]:
        """Session and batch id."""
        return self.session.session_id, self.batch_id
