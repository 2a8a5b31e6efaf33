"""Shared base of the admin service's parts, and the terms of a session in words."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Concatenate, ParamSpec, Self, TypeVar

import grpc

from ostraka.common.clock import Clock
from ostraka.common.config import NoiseName
from ostraka.common.identity import Credentials
from ostraka.common.mechanism import Mechanism
from ostraka.common.plan.plan import Plan
from ostraka.common.plan.signed_lists import read_grant
from ostraka.common.rpc import peer_identity
from ostraka.guardian.ledger import Ledger, StoredSession, UnitKey
from ostraka.guardian.ledger.sessions import recorded_charges, sessions
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.policy import Policies
from ostraka.guardian.sessions.trainings import is_unguaranteed
from ostraka.protos.ostraka.v1 import admin_pb2_grpc

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class SessionTerms:
    """What a session was opened for, and the policy under which its charges are computed.

    `released` says in words what each of its answers is; it is empty if no plan says it.
    """

    mechanism: str
    bound: str
    released: str = ""
    querier: str = ""
    variant: str = ""
    parties: tuple[str, ...] = ()
    enforce: str = ""
    tally: str = ""
    encoding: str = ""
    unguaranteed: bool = False

    @classmethod
    def of(cls, session: StoredSession) -> Self:
        """Read the terms from the session's plan and signed grant."""
        plan = Plan.parse(session.plan)
        grant = read_grant(session.grant)
        return cls(
            querier=session.querier,
            mechanism=_mechanism_words(plan.mechanism),
            released=plan.mechanism.released,
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
        """Return the terms of an epsilon that was published with noise, by smooth sensitivity."""
        return cls(
            querier="the guardian's administrators",
            mechanism="an epsilon published with noise, by smooth sensitivity",
            enforce="worst_case",
            bound="worst_case",
            tally="none",
        )

    @classmethod
    def of_receipts(cls, worst_case: int) -> Self:
        """Return the terms of releases that a restored ledger lost; `worst_case` is their charge, an amount.

        Only a round of ttac has a worst case of 0 (`ostraka.common.privacy.worst_case`).
        """
        return cls(
            mechanism="what a restored ledger had forgotten, from the party's receipts",
            bound="worst_case",
            unguaranteed=not worst_case,
        )


def _mechanism_words(mechanism: Mechanism) -> str:
    """Return a mechanism with its parameters, and what it releases if that is not a label."""
    return str(mechanism) if mechanism.labels_queries else f"{mechanism} (a {mechanism.released})"


class AdminPart(admin_pb2_grpc.AdminServicer):
    """Some methods of the admin service; the caller's role is checked before a method runs."""

    def __init__(
        self,
        ledger: Ledger,
        policies: Policies,
        credentials: Credentials,
        clock: Clock,
        noise_name: NoiseName,
    ) -> None:
        self._ledger = ledger
        self._policies = policies
        self._credentials = credentials
        self._clock = clock
        self._noise_name = noise_name
        # A session's plan and grant never change.
        self._is_unguaranteed = cache(lambda session_id: self._terms(session_id).unguaranteed)

    def _write(
        self,
        context: grpc.ServicerContext,
        change: Callable[Concatenate[Transaction, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Make a change for the calling administrator, whom the audit log names."""
        return self._ledger.write_as(peer_identity(context).site, change, *args, **kwargs)

    def _terms(self, session_id: str) -> SessionTerms:
        """Return the terms of a session, whichever replica of the guardian it is pinned to."""
        return SessionTerms.of(self._ledger.read(sessions.find_session, session_id))

    def _find_unguaranteed(self, party: str | None) -> set[UnitKey]:
        """Units with a release that no epsilon covers; of one party or of all."""
        uncovered = list(filter(self._is_unguaranteed, self._ledger.read(sessions.ids)))
        known = self._ledger.read(recorded_charges.paying_units, uncovered, party) if uncovered else set()
        forgotten = self._ledger.read(recorded_charges.charges, party=party, kind="receipt")
        return known | {
            charge.unit for charge in forgotten if SessionTerms.of_receipts(charge.worst_case).unguaranteed
        }
