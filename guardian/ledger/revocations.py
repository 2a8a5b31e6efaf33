"""Revocation lists that an administrator applied: in the audit log, where every replica finds them."""

from __future__ import annotations

import json

from sqlalchemy import Connection, func, select

from ostraka.guardian.ledger.schema import audit
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.values import AppliedRevocations

KIND = "revocations_applied"


def apply(tx: Transaction, pem: str, *, number: int, revoked: int, reason: str) -> None:
    """Record a list. See `Administration.apply_revocations`."""
    if pem.encode() not in after(tx.connection, 0).pems[-1:]:
        tx.record(KIND, number=number, revoked=revoked, pem=pem, reason=reason)


def after(connection: Connection, row: int) -> AppliedRevocations:
    """Return the lists that were applied in the audit log after `row`, in that order."""
    last = int(connection.execute(select(func.max(audit.c.sequence))).scalar_one() or 0)
    of_kind = audit.c.payload.contains(f'"kind":"{KIND}"', autoescape=True)
    statement = select(audit.c.payload).where(audit.c.sequence > row, of_kind).order_by(audit.c.sequence)
    found = connection.execute(statement).scalars()
    return AppliedRevocations(last, tuple(json.loads(payload)["pem"].encode() for payload in found))
