"""The audit log: hash-chained rows with signed heads, written together with the changes, read in parts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, insert, select

from ostraka.guardian.ledger.reader import LedgerReader, View
from ostraka.guardian.ledger.store.schema import audit, meta
from ostraka.guardian.ledger.store.values import StoredAuditRow
from ostraka.protos.ostraka.v1 import common_pb2

SignHead = Callable[[bytes], common_pb2.Signed]
"""Signs a head's payload with the guardian's key under ostraka.common.wire.contexts.AUDIT_CONTEXT."""

GENESIS = bytes(32)
_DOMAIN = b"ostraka/v1/audit/row\0"
_LOCK = select(meta.c.id).with_for_update()
_ADD = insert(audit)
_LATEST = select(audit).order_by(audit.c.sequence.desc()).limit(1)


def append(
    connection: Connection,
    now_ms: int,
    sign_head: SignHead,
    kind: str,
    details: Iterable[Mapping[str, Any]],
) -> None:
    """Add a row for each of `details`, in the caller's transaction, with worst-case amounts only."""
    lock(connection)
    sequence, previous = _last(connection)
    rows = []
    for detail in details:
        sequence += 1
        payload = json.dumps({"kind": kind, **detail}, sort_keys=True, separators=(",", ":"))
        digest = row_hash(sequence, now_ms, previous, payload)
        rows.append(
            {
                "sequence": sequence,
                "time_unix_ms": now_ms,
                "payload": payload,
                "previous": previous,
                "hash": digest,
                "signed": sign_head(head_payload(sequence, digest)).SerializeToString(),
            }
        )
        previous = digest
    connection.execute(_ADD, rows)


def lock(connection: Connection) -> None:
    """Make other transactions wait with their rows until this one ends; take all other locks before."""
    connection.execute(_LOCK)


def head(view: View) -> common_pb2.AuditHead:
    """Return the latest row's sequence, hash and signature."""
    row = view.connection.execute(_LATEST).one()
    return common_pb2.AuditHead(
        sequence=row.sequence, hash=row.hash, signed=common_pb2.Signed.FromString(row.signed)
    )


def last(connection: Connection) -> int:
    """Return the latest row's sequence, or 0."""
    return _last(connection)[0]


def row_hash(sequence: int, time_unix_ms: int, previous: bytes, payload: str) -> bytes:
    """SHA-256 over a row and the hash of the row before it."""
    numbers = sequence.to_bytes(8, "big") + time_unix_ms.to_bytes(8, "big")
    return hashlib.sha256(_DOMAIN + numbers + previous + payload.encode()).digest()


def head_payload(sequence: int, digest: bytes) -> bytes:
    """Return the payload of a signature: the sequence (8 bytes, big endian) and the hash (32 bytes)."""
    return sequence.to_bytes(8, "big") + digest


def sha256(content: bytes) -> str:
    """Return the SHA-256 by which a row refers to `content`."""
    return hashlib.sha256(content).hexdigest()


def _last(connection: Connection) -> tuple[int, bytes]:
    row = connection.execute(_LATEST).one_or_none()
    return (row.sequence, row.hash) if row else (0, GENESIS)


_ROWS_AT_ONCE = 1000
"""Rows that one transaction reads: while a transaction is open, the write-ahead log of a SQLite file only
grows, so each should end soon."""


def audit_rows(ledger: LedgerReader, first: int = 1) -> Iterator[StoredAuditRow]:
    """Yield the audit log from row `first` on, read in parts: no transaction waits for the reader."""
    while rows := ledger.read(_part, first):
        yield from rows
        first = rows[-1].sequence + 1


def _part(view: View, first: int) -> list[StoredAuditRow]:
    statement = select(audit).where(audit.c.sequence >= first).order_by(audit.c.sequence).limit(_ROWS_AT_ONCE)
    return [StoredAuditRow(*row) for row in view.connection.execute(statement)]
