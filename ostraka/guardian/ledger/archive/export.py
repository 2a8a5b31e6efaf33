"""Rows of the audit log for whoever checks them elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import select

from ostraka.guardian.ledger.reader import LedgerReader
from ostraka.guardian.ledger.store.schema import audit
from ostraka.guardian.ledger.store.values import StoredAuditRow
from ostraka.guardian.ledger.view import View

_AT_ONCE = 1000


def audit_rows(ledger: LedgerReader, first: int = 1) -> Iterator[StoredAuditRow]:
    """Yield the audit log from row `first` on, read in parts: no transaction waits for the reader."""
    while rows := ledger.read(_part, first):
        yield from rows
        first = rows[-1].sequence + 1


def _part(view: View, first: int) -> list[StoredAuditRow]:
    statement = select(audit).where(audit.c.sequence >= first).order_by(audit.c.sequence).limit(_AT_ONCE)
    return [StoredAuditRow(*row) for row in view.connection.execute(statement)]
