"""Opens and finds sessions by their plan; only the guardian that holds a session may answer for it."""

from __future__ import annotations

from ostraka.guardian.ledger.ledger import Ledger
from ostraka.guardian.ledger.sessions import sessions
from ostraka.guardian.ledger.store.session_values import StoredSession


def open_session(
    ledger: Ledger, asked: StoredSession, *, most_open: int | None = None, within_s: float = 0.0
) -> StoredSession:
    """Store a session as `sessions.open_session`, or return the earlier session with this plan.

    Raises:
        OstrakaError: `policy.open_limit`; `session.elsewhere` if another guardian serves the earlier session.
    """
    found = ledger.write(sessions.open_session, asked, most_open=most_open, within_s=within_s)
    return ledger.read_session(found.session_id, sessions.find_session)


def find_session(ledger: Ledger, querier: str, plan_digest: bytes) -> StoredSession | None:
    """Return the session that `querier` opened with this plan, or None; raises `session.elsewhere`."""
    found = ledger.read(sessions.find_by_plan, querier, plan_digest)
    return None if found is None else ledger.read_session(found.session_id, sessions.find_session)
