"""Revocation lists that an administrator applied: in the audit log, where every replica finds them."""

from __future__ import annotations

import json

from sqlalchemy import Connection, func, select

from guardian.ledger.schema import audit
from guardian.ledger.transaction import Transaction
from guardian.ledger.values import AppliedRevocations

KIND = "revocations_applied"


def apply(tx: Transaction, pem: str, *, number: int, revoked: int, reason: str) -> None:
    """Record a list. See `Administration.apply_revocations`."""
    if after(tx.connection, 0).number != number:
        tx.record(KIND, number=number, revoked=revoked, pem=pem, reason=reason)


def after(connection: Connection, row: int) -> AppliedRevocations:
    """The list that was applied last in the audit log after `row`; number 0 where none was."""
    last = int(connection.execute(select(func.max(audit.c.sequence))).scalar_one() or 0)
    of_kind = audit.c.payload.contains(f'"kind":"{KIND}"', autoescape=True)
    statement = select(audit.c.payload).where(audit.c.sequence > row, of_kind)
    found = connection.execute(statement.order_by(audit.c.sequence.desc()).limit(1)).scalar_one_or_none()
    if found is None:
        return AppliedRevocations(last, 0, b"")
    applied = json.loads(found)
    return AppliedRevocations(last, applied["number"], applied["pem"].encode())
