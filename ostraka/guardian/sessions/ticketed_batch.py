"""A batch that has a ticket, with its session: what a call loads once and then works with."""

from __future__ import annotations

from dataclasses import dataclass

from ostraka.common.plan.plan import Plan
from ostraka.guardian.ledger import StoredBatch
from ostraka.guardian.sessions.refusals import no_ticket
from ostraka.guardian.sessions.registry import Session


@dataclass(frozen=True)
class TicketedBatch:
    """A batch and its session as the ledger held them when the call began.

    Attributes:
        session: the batch's session.
        batch_id: unique in the session.
        size: how many queries it asks.
        released: whether it had answers by then. One that had none may have some by now.
    """

    session: Session
    batch_id: int
    size: int
    released: bool

    @classmethod
    def of(cls, session: Session, batch_id: int, stored: StoredBatch | None) -> TicketedBatch:
        """Return the batch as `stored`; raise `ticket.invalid` where it was never opened."""
        if stored is None:
            raise no_ticket(batch_id)
        return cls(session, batch_id, stored.size, stored.state == "released")

    @property
    def plan(self) -> Plan:
        """What its session asks for, and what shares of it look like."""
        return self.session.plan

    @property
    def key(self) -> tuple[str, int]:
        """Session and batch id."""
        return self.session.session_id, self.batch_id
