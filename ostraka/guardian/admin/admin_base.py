"""Shared base of the admin service's parts."""

from functools import cache

from ostraka.common.clock import Clock
from ostraka.common.identity import Credentials
from ostraka.guardian.admin.terms import SessionTerms
from ostraka.guardian.ledger import Ledger, UnitKey
from ostraka.guardian.ledger.sessions import recorded_charges, sessions
from ostraka.guardian.policy import Policies
from ostraka.protos.ostraka.v1 import admin_pb2_grpc


class AdminPart(admin_pb2_grpc.AdminServicer):
    """Some methods of the admin service; the caller's role is checked before one runs."""

    def __init__(self, ledger: Ledger, policies: Policies, credentials: Credentials, clock: Clock) -> None:
        """Take the ledger, the policy in force, and whom signatures are verified against, as of when."""
        self._ledger = ledger
        self._policies = policies
        self._credentials = credentials
        self._clock = clock
        self._is_unguaranteed = cache(lambda session_id: self._terms(session_id).unguaranteed)

    def _terms(self, session_id: str) -> SessionTerms:
        """Return the terms of a session, whichever replica of the guardian it is pinned to."""
        return SessionTerms.of(self._ledger.read(sessions.find_session, session_id))

    def _unguaranteed(self, party: str | None) -> set[UnitKey]:
        """Units of which something was released that no epsilon covers; of one party or all."""
        uncovered = list(filter(self._is_unguaranteed, self._ledger.read(sessions.ids)))
        known = self._ledger.read(recorded_charges.paying_units, uncovered, party) if uncovered else set()
        forgotten = self._ledger.read(recorded_charges.charges, party=party, kind="receipt")
        return known | {
            charge.unit for charge in forgotten if SessionTerms.of_receipts(charge.worst_case).unguaranteed
        }
