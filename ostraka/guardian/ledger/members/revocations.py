"""Revocation lists that an administrator applied: stored in the audit log, where every replica finds them."""

from __future__ import annotations

import json

from sqlalchemy import select

from ostraka.guardian.ledger.log import audit as log
from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.store.schema import audit
from ostraka.guardian.ledger.store.values import AppliedRevocations
from ostraka.guardian.ledger.transaction import Transaction

KIND = "revocations_applied"


def apply(tx: Transaction, pem: str, *, number: int, revoked: int, reason: str) -> None:
    """Record a revocation list, which the caller has verified; repeating the last one changes nothing."""
    if pem.encode() not in after(tx).pems[-1:]:
        tx.record(KIND, number=number, revoked=revoked, pem=pem, reason=reason)


def after(view: View, row: int = 0) -> AppliedRevocations:
    """Return the lists that the audit log records after `row`, in order."""
    last = log.last(view.connection)
    of_kind = audit.c.payload.contains(f'"kind":"{KIND}"', autoescape=True)
    statement = select(audit.c.payload).where(audit.c.sequence > row, of_kind).order_by(audit.c.sequence)
    found = view.connection.execute(statement).scalars()
    return AppliedRevocations(last, tuple(json.loads(payload)["pem"].encode() for payload in found))
