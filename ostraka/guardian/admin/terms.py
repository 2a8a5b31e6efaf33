"""The terms of a session, for people: its plan and what it was granted under."""

from dataclasses import dataclass
from typing import Self

from ostraka.common.plan.plan import Plan
from ostraka.common.plan.signed_lists import stored_grant
from ostraka.guardian.ledger import StoredSession
from ostraka.guardian.sessions.trainings import is_unguaranteed


@dataclass(frozen=True)
class SessionTerms:
    """What a session was opened for, and under which policy its charges are computed."""

    querier: str
    mechanism: str
    variant: str
    parties: tuple[str, ...]
    enforce: str
    bound: str
    tally: str
    encoding: str
    unguaranteed: bool = False

    @classmethod
    def of(cls, session: StoredSession) -> Self:
        """Read the terms from the session's plan and signed grant."""
        plan = Plan.parse(session.plan)
        grant = stored_grant(session.grant)
        return cls(
            querier=session.querier,
            mechanism=str(plan.mechanism),
            variant=plan.variant,
            parties=plan.parties,
            enforce=grant.enforce,
            bound=grant.bound,
            tally=plan.tally,
            encoding=plan.encoding,
            unguaranteed=is_unguaranteed(plan, grant),
        )

    @classmethod
    def of_publication(cls) -> Self:
        """Return the terms of an epsilon that was published by smooth sensitivity."""
        return cls(
            querier="the guardian's administrators",
            mechanism="an epsilon published with noise, by smooth sensitivity",
            variant="",
            parties=(),
            enforce="worst_case",
            bound="worst_case",
            tally="none",
            encoding="",
        )

    @classmethod
    def of_receipts(cls, worst_case: int) -> Self:
        """Return the terms of what a restored ledger had forgotten, charged at its worst case, an amount.

        Nothing but a round of ttac has a worst case of 0 (`ostraka.common.privacy.worst_case`).
        """
        return cls(
            querier="",
            mechanism="what a restored ledger had forgotten, from the party's receipts",
            variant="",
            parties=(),
            enforce="",
            bound="worst_case",
            tally="",
            encoding="",
            unguaranteed=not worst_case,
        )
