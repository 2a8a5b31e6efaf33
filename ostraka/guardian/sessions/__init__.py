"""Sessions: admission, tickets, ballots in memory, release (DESIGN sections 2 and 7)."""

from ostraka.guardian.sessions.coordinator import Coordinator

__all__ = ["Coordinator"]
