"""Sessions: admission, tickets, ballots in memory, release (docs/architecture.md#a-session)."""

from ostraka.guardian.sessions.coordinator import Coordinator

__all__ = ["Coordinator"]
