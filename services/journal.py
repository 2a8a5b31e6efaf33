"""What an answering party must remember across restarts: answered batches, their cost, the audit head.

No query, vote, share or seed is ever written here; every value is public to the querying party.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import structlog

from common.errors import ErrorCode, OstrakaError
from protos.ostraka.v1 import common_pb2
from services.charges import Cap, Charge

_BUSY_S = 5.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS batches (
    session TEXT NOT NULL,
    batch TEXT NOT NULL,
    mechanism TEXT NOT NULL,
    queries INTEGER NOT NULL,
    votes_per_person INTEGER NOT NULL,
    recorded_unix_s REAL NOT NULL,
    classes INTEGER NOT NULL,
    PRIMARY KEY (session, batch)
) STRICT;
CREATE TABLE IF NOT EXISTS audit_head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    sequence INTEGER NOT NULL,
    head BLOB NOT NULL
) STRICT;
"""
_CLASSES_BEFORE = 2
"""Stands in journals without that column, whose mechanisms cost the same for any number of classes."""


class Journal:
    """Answered batches in a SQLite file, durable when a call returns; safe for threads and processes.

    A charge is kept as the public parameters it is computed from, so that it can be stated at any order.
    """

    def __init__(self, path: Path, *, cap: Cap | None = None) -> None:
        """Opens or creates the journal; raises `ledger.read_only` or `ledger.locked`."""
        self._path = path
        self._cap = cap
        self._lock = threading.Lock()
        with self._errors():
            self._db = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.executescript(_SCHEMA)
        self._add_classes()

    def __enter__(self) -> Self:
        """The journal itself, closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the file."""
        self.close()

    def close(self) -> None:
        """Closes the file; whatever was recorded stays."""
        with self._lock:
            self._db.close()

    def holds(self, session_id: str, batch_id: int) -> bool:
        """Whether this batch was answered, by this process or an earlier one."""
        with self._lock, self._errors():
            return self._holds(session_id, batch_id)

    def spent(self, order: float) -> int:
        """The worst-case amount of all batches at `order`."""
        with self._lock, self._errors():
            return self._spent(order)

    def check_cap(self, charge: Charge) -> None:
        """Raises `party.cap_reached` where `charge` would exceed the cap."""
        with self._lock, self._errors():
            self._check_cap(charge)

    def record(self, session_id: str, batch_id: int, charge: Charge, now: float) -> None:
        """Records a batch and its charge in one transaction.

        Raises `party.cap_reached` where it would exceed the cap, `batch.restarted` where it is recorded.
        """
        with self._transaction():
            if self._holds(session_id, batch_id):
                raise restarted(batch_id)
            self._check_cap(charge)
            cost = (charge.mechanism_json, charge.queries, charge.votes_per_person)
            self._db.execute(
                "INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?, ?)",
                (session_id, str(batch_id), *cost, now, charge.classes),
            )

    def audit_head(self) -> common_pb2.AuditHead | None:
        """The latest head of the guardian's audit log that this party was sent."""
        with self._lock, self._errors():
            return self._head()

    def keep_head(self, head: common_pb2.AuditHead) -> None:
        """Keeps `head` if it is later than the one kept.

        Two hashes of one entry prove a rewritten history: the first stays and an error is logged.
        """
        with self._transaction():
            kept = self._head()
            if kept is not None and kept.sequence == head.sequence and kept.hash != head.hash:
                structlog.get_logger().error("audit_log_rewritten", sequence=head.sequence)
            if kept is None or kept.sequence < head.sequence:
                self._db.execute(
                    "INSERT OR REPLACE INTO audit_head VALUES (1, ?, ?)",
                    (head.sequence, head.SerializeToString()),
                )

    def _add_classes(self) -> None:
        """Brings a journal of an earlier version up to date."""
        with self._errors():
            if self._has_classes():
                return
        with self._transaction():
            if not self._has_classes():
                self._db.execute(
                    f"ALTER TABLE batches ADD COLUMN classes INTEGER NOT NULL DEFAULT {_CLASSES_BEFORE}"
                )

    def _has_classes(self) -> bool:
        return any(row[1] == "classes" for row in self._db.execute("PRAGMA table_info(batches)"))

    def _holds(self, session_id: str, batch_id: int) -> bool:
        found = self._db.execute(
            "SELECT 1 FROM batches WHERE session = ? AND batch = ?", (session_id, str(batch_id))
        )
        return found.fetchone() is not None

    def _spent(self, order: float) -> int:
        rows = self._db.execute(
            "SELECT COUNT(*), mechanism, queries, votes_per_person, classes FROM batches "
            "GROUP BY mechanism, queries, votes_per_person, classes"
        )
        return sum(batches * Charge.of_json(*charge).amount(order) for batches, *charge in rows)

    def _check_cap(self, charge: Charge) -> None:
        if self._cap is None:
            return
        if self._spent(self._cap.order) + charge.amount(self._cap.order) > self._cap.amount:
            raise OstrakaError(
                ErrorCode.PARTY_CAP_REACHED,
                "This party's own worst-case cap leaves no room for the batch: ask for a smaller batch or go "
                "on without this party.",
            )

    def _head(self) -> common_pb2.AuditHead | None:
        row = self._db.execute("SELECT head FROM audit_head").fetchone()
        return None if row is None else common_pb2.AuditHead.FromString(row[0])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock, self._errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as exc:
            raise _explained(exc, self._path) from exc


def restarted(batch_id: int) -> OstrakaError:
    """The error for a batch that was answered before a restart, whose reply is gone."""
    return OstrakaError(
        ErrorCode.BATCH_RESTARTED,
        f"This party restarted after it had answered batch {batch_id}: ask again under a new batch id.",
    )


def _explained(exc: sqlite3.DatabaseError, path: Path) -> OstrakaError:
    if not isinstance(exc, sqlite3.OperationalError):
        return OstrakaError(
            ErrorCode.LEDGER_TAMPERED,
            f"The journal {path} is damaged: restore it from a backup; without it this party cannot know "
            "which batches it answered.",
        )
    if exc.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return OstrakaError(
            ErrorCode.LEDGER_LOCKED,
            f"The journal {path} is in use by another process: stop that one, then try again.",
        )
    return OstrakaError(
        ErrorCode.LEDGER_READ_ONLY,
        f"The journal {path} cannot be written: give this user write access to its folder and check that "
        "the disk is not full.",
    )
