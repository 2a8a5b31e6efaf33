"""Federation policies that an administrator applied."""

from __future__ import annotations

from sqlalchemy import insert, select

from ostraka.guardian.ledger.log.audit import sha256
from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.store.schema import policies
from ostraka.guardian.ledger.store.values import StoredPolicy
from ostraka.guardian.ledger.transaction import Transaction

_LAST = select(policies).order_by(policies.c.version.desc()).limit(1)


def in_force(view: View) -> StoredPolicy | None:
    """Return the policy that was applied last, if there is one."""
    row = view.connection.execute(_LAST).one_or_none()
    return None if row is None else StoredPolicy(row.version, row.toml, row.reason, row.applied_unix_ms)


def apply(tx: Transaction, toml: str, *, reason: str) -> StoredPolicy:
    """Put a policy, which the caller has parsed, into force; the same policy again changes nothing."""
    before = in_force(tx)
    if before is not None and before.toml == toml:
        return before
    policy = StoredPolicy(before.version + 1 if before else 1, toml, reason, tx.now_ms)
    tx.connection.execute(
        insert(policies).values(
            version=policy.version, toml=toml, reason=reason, applied_unix_ms=policy.applied_unix_ms
        )
    )
    tx.record("policy_applied", version=policy.version, toml_sha256=sha256(toml.encode()), reason=reason)
    return policy
