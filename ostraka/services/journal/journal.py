"""Durable journal of an answering party: answered batches, their cost, the audit head.

No query, vote, share or seed is ever written here; the querying party knows every value.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby, islice
from pathlib import Path
from typing import Self

import structlog

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials
from ostraka.common.mechanism.message import mechanism_message
from ostraka.common.wire.contexts import RECEIPTS_CONTEXT
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2
from ostraka.services.journal.file import JournalFile
from ostraka.services.journal.limits import (
    Cap,
    GroupCharge,
    QueryCount,
    check_day,
    queries_in_day,
    record_queries,
)

PAGE = 1000
"""Number of charges that are read together."""
CHARGE_COLUMNS = "mechanism, queries, classes, sensitivity, record_group, adjacency"
"""In the order of `GroupCharge.of_json`."""


class Journal:
    """Answered batches in a SQLite file, durable when a call returns; safe for threads and processes.

    A charge is stored as the public parameters that it is computed from, so it can be computed at any order.
    """

    def __init__(self, path: Path, *, cap: Cap | None = None, queries_per_day: int | None = None) -> None:
        """Open or create the journal, which enforces the operator's two limits on batches.

        Raises `ledger.*` as `JournalFile` does.
        """
        self._file = JournalFile(path)
        self._cap = cap
        self._queries_per_day = queries_per_day
        self._spending = None if cap is None else Spending(cap.order)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; everything recorded stays."""
        self._file.close()

    def holds(self, session_id: str, batch_id: int) -> bool:
        """Whether this batch was answered, by this process or an earlier one."""
        with self._file.reading() as db:
            return _holds(db, session_id, batch_id)

    def amount_spent(self, order: float) -> int:
        """Return the worst-case amount at `order` that all batches may have cost any one record."""
        with self._file.reading() as db:
            return Spending(order).total(db)

    def cap_used(self) -> float | None:
        """Return the used fraction of the operator's cap; None without a cap."""
        if self._cap is None or self._spending is None:
            return None
        with self._file.reading() as db:
            return self._spending.total(db) / self._cap.amount

    def queries_in_day(self, now: float) -> dict[str, int]:
        """Count the queries of each querying party, by certificate URI, in the 24 hours before `now`."""
        with self._file.reading() as db:
            return queries_in_day(db, now)

    def check(self, charges: Sequence[GroupCharge], count: QueryCount, now: float) -> None:
        """Raise what `record` would raise for a new batch: `party.cap_reached`, `policy.daily_limit`."""
        with self._file.reading() as db:
            self._check(db, charges, count, now)

    def record(
        self, session_id: str, batch_id: int, charges: Sequence[GroupCharge], count: QueryCount, now: float
    ) -> None:
        """Record a batch with its charges, one per group, and its queries, in one transaction.

        Raises `party.cap_reached` if the charges would exceed the cap, `policy.daily_limit` if the querying
        party asks too much in 24 hours, `batch.restarted` if the batch is already recorded.
        """
        with self._file.transaction() as db:
            if _holds(db, session_id, batch_id):
                raise batch_restarted(batch_id)
            self._check(db, charges, count, now)
            record_queries(db, session_id, batch_id, count, now)
            db.executemany(
                f"INSERT INTO charges (session, batch, recorded_unix_s, {CHARGE_COLUMNS}) "  # noqa: S608
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(session_id, str(batch_id), now, *_row(charge)) for charge in charges],
            )

    def receipts(self) -> Iterator[tuple[str, int, GroupCharge]]:
        """Yield every charge ever recorded with its session and batch, in the order of recording."""
        last = 0
        while True:
            # Page by page: the journal is not locked while a page is sent to the guardian.
            with self._file.reading() as db:
                page = db.execute(
                    f"SELECT id, session, batch, {CHARGE_COLUMNS} FROM charges "  # noqa: S608
                    "WHERE id > ? ORDER BY id LIMIT ?",
                    (last, PAGE),
                ).fetchall()
            if not page:
                return
            for _, session_id, batch, *charge in page:
                yield session_id, int(batch), GroupCharge.of_json(*charge)
            last = page[-1][0]

    def declare_votes(self, votes: int) -> None:
        """Record the declared votes per person in a query; do nothing if they are unchanged."""
        with self._file.transaction() as db:
            if _read_declared_votes(db)[-1:] != [votes]:
                db.execute("INSERT INTO declared_votes (votes) VALUES (?)", (votes,))

    def list_declared_votes(self) -> list[int]:
        """Return all declared numbers of votes per person, in order."""
        with self._file.reading() as db:
            return _read_declared_votes(db)

    def audit_head(self) -> common_pb2.AuditHead | None:
        """Return the latest head of the guardian's audit log that this party received."""
        with self._file.reading() as db:
            return head_of(db)[0]

    def epoch(self) -> int:
        """Return how often the guardian's ledger had been restored when that head was sent."""
        with self._file.reading() as db:
            return head_of(db)[1]

    def keep_head(self, head: common_pb2.AuditHead, epoch: int = 0) -> None:
        """Store `head` if it is of a later epoch than the stored one, or later in the same epoch.

        A restored ledger continues from an earlier entry, so the last head before the restore is stored too,
        as evidence. Two hashes of one entry in one epoch prove a rewritten history: the first one stays and
        an error is logged.
        """
        with self._file.transaction() as db:
            kept, kept_epoch = head_of(db)
            same = kept is not None and (epoch, head.sequence) == (kept_epoch, kept.sequence)
            if kept is not None and same and head.hash != kept.hash:
                structlog.get_logger().error("audit_log_rewritten", sequence=head.sequence)
            if kept is not None and (epoch, head.sequence) <= (kept_epoch, kept.sequence):
                return
            if kept is not None and epoch > kept_epoch:
                former = (kept_epoch, kept.SerializeToString())
                db.execute("INSERT INTO former_heads VALUES (?, ?)", former)
            latest = (head.sequence, head.SerializeToString(), epoch)
            db.execute("INSERT OR REPLACE INTO audit_head VALUES (1, ?, ?, ?)", latest)

    def _check(
        self, db: sqlite3.Connection, charges: Sequence[GroupCharge], count: QueryCount, now: float
    ) -> None:
        if self._queries_per_day is not None:
            check_day(db, count, self._queries_per_day, now)
        if self._cap is None or self._spending is None:
            return
        if self._spending.total(db) + self._spending.most(charges) > self._cap.amount:
            raise OstrakaError(
                ErrorCode.PARTY_CAP_REACHED,
                "This party's own worst-case cap leaves no room for the batch: ask for a smaller batch "
                "or go on without this party.",
            )


class Spending:
    """The worst-case amount at one order that recorded batches may have cost any one record.

    A record is in one group at a time, but may move to another whenever teachers are trained again. So each
    batch counts with the cost to its most expensive group. Rows are only added, and each is read once.
    """

    def __init__(self, order: float) -> None:
        self._order = order
        self._last = 0
        self._total = 0
        self._amount = cache(lambda charge: charge.amount(order))

    def total(self, db: sqlite3.Connection) -> int:
        """Return the amount of all batches in `db`; call it while no batch is partly written."""
        rows = db.execute(
            f"SELECT id, session, batch, {CHARGE_COLUMNS} FROM charges WHERE id > ? ORDER BY id",  # noqa: S608
            (self._last,),
        )
        for _, batch in groupby(rows, key=lambda row: row[1:3]):
            charged = list(batch)
            self._total += self.most([GroupCharge.of_json(*row[3:]) for row in charged])
            self._last = charged[-1][0]
        return self._total

    def most(self, charges: Iterable[GroupCharge]) -> int:
        """Return the cost of one batch to its most expensive group."""
        return max((self._amount(charge) for charge in charges), default=0)


def batch_restarted(batch_id: int) -> OstrakaError:
    """Return the error for a batch that was answered before a restart, whose reply is lost."""
    return OstrakaError(
        ErrorCode.BATCH_RESTARTED,
        f"This party restarted after it had answered batch {batch_id}: ask again under a new batch id.",
    )


def _holds(db: sqlite3.Connection, session_id: str, batch_id: int) -> bool:
    key = (session_id, str(batch_id))
    tables = ("charges", "asked")
    found = (f"SELECT 1 FROM {table} WHERE session = ? AND batch = ?" for table in tables)  # noqa: S608
    return any(db.execute(statement, key).fetchone() is not None for statement in found)


def _read_declared_votes(db: sqlite3.Connection) -> list[int]:
    return [votes for (votes,) in db.execute("SELECT votes FROM declared_votes ORDER BY id")]


def _row(charge: GroupCharge) -> tuple[str, int, int, float, str, str]:
    cost = (charge.mechanism_json, charge.queries, charge.classes, charge.sensitivity)
    return *cost, charge.group, charge.adjacency


def head_of(db: sqlite3.Connection) -> tuple[common_pb2.AuditHead | None, int]:
    """Return the latest audit head, None before the first, and its epoch."""
    row = db.execute("SELECT head, epoch FROM audit_head").fetchone()
    return (None, 0) if row is None else (common_pb2.AuditHead.FromString(row[0]), row[1])


AT_ONCE = 1000
"""Maximum number of receipts per message."""


def receipts(journal: Journal, credentials: Credentials) -> Iterator[guardian_pb2.ReconcileRequest]:
    """Yield every charge of the journal in signed messages, at least one; read anew at each call.

    The first message contains all numbers of votes per person that this party declared.
    """
    rows = journal.receipts()
    part = list(islice(rows, AT_ONCE))
    declared_votes = journal.list_declared_votes()
    while True:
        message = common_pb2.Receipts(
            site=credentials.identity.site,
            receipts=[_receipt(*charged) for charged in part],
            declared_votes=declared_votes,
        )
        declared_votes = []
        signed = credentials.sign(RECEIPTS_CONTEXT, message.SerializeToString(deterministic=True))
        yield guardian_pb2.ReconcileRequest(receipts=signed)
        part = list(islice(rows, AT_ONCE))
        if not part:
            return


def _receipt(session_id: str, batch_id: int, charge: GroupCharge) -> common_pb2.Receipt:
    return common_pb2.Receipt(
        session_id=session_id,
        batch_id=batch_id,
        group=charge.group,
        mechanism=mechanism_message(charge.mechanism),
        classes=charge.classes,
        adjacency=charge.adjacency,
        queries=charge.queries,
        sensitivity=charge.sensitivity,
    )
