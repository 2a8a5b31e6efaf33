"""Ballots that were refused, in the audit log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ostraka.guardian.ledger.store.session_values import StoredSession
from ostraka.guardian.ledger.transaction import Transaction


def record(tx: Transaction, session: StoredSession, batch_id: int, parties: Sequence[str]) -> None:
    """Record the `parties` whose ballots in a batch are not votes of their teachers."""
    tx.record("ballots_refused", session=session.session_id, batch=batch_id, parties=sorted(parties))


def record_attestation(
    tx: Transaction, session: StoredSession, batch_id: int, party: str, found: Mapping[str, str]
) -> None:
    """Record a party's attestation of its refused ballots, what it was compared with, and the conclusion."""
    named = {"session": session.session_id, "batch": batch_id, "party": party, "querier": session.querier}
    tx.record("ballots_attested", **named, **found)
