"""Parties: who may answer, what they declared, and which certificates the federation's CA revoked."""

from collections.abc import Iterator

import grpc

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.admin import requests
from ostraka.guardian.admin.admin_base import AdminPart
from ostraka.guardian.ledger import StoredManifest, StoredParty
from ostraka.guardian.ledger.members import manifests, parties, revocations
from ostraka.guardian.sessions.admission import find_revoked
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2

STATES = ("added", "suspended", "active", "removed")


class Parties(AdminPart):
    """Lists parties and sets their standing."""

    def ListParties(
        self, request: admin_pb2.ListPartiesRequest, context: grpc.ServicerContext
    ) -> Iterator[admin_pb2.PartyInfo]:
        """Every party, or one."""
        site = requests.party_name(request.party) if request.party else None
        found = self._ledger.read(parties.all_parties, site)
        if site is not None and not found:
            raise OstrakaError(
                ErrorCode.PARTY_UNKNOWN,
                f"The guardian knows no party {site}; see `ostraka guardian party list`.",
            )
        declared = self._ledger.read(manifests.latest, None if site is None else [site])
        return (self._message(party, declared.get(party.site)) for party in found)

    def SetParty(
        self, request: admin_pb2.SetPartyRequest, context: grpc.ServicerContext
    ) -> admin_pb2.SetPartyReply:
        """Add, suspend, resume or remove a party, from the next batch on."""
        site = requests.party_name(request.party)
        reason = requests.reason(request.reason)
        if request.state not in STATES:
            raise requests.invalid(f"A party's state must be one of {', '.join(STATES)}")
        party = self._write(context, parties.set_party, site, request.state, reason=reason)
        declared = self._ledger.read(manifests.latest, [site])
        return admin_pb2.SetPartyReply(party=self._message(party, declared.get(site)))

    def _message(self, party: StoredParty, stored: StoredManifest | None) -> admin_pb2.PartyInfo:
        manifest = common_pb2.Manifest.FromString(stored.manifest) if stored else common_pb2.Manifest()
        return admin_pb2.PartyInfo(
            site=party.site,
            state=self._state(party, stored),
            groups=manifest.groups,
            mixed=manifest.mixed,
            max_votes_per_person=manifest.max_votes_per_person,
            training=manifest.training,
            together=manifest.together,
            shared_features=manifest.shared_features,
            whole_persons=manifest.whole_persons,
            since_unix_s=party.since_unix_ms // 1000,
        )

    def _state(self, party: StoredParty, stored: StoredManifest | None) -> str:
        kept = {} if stored is None else {party.site: stored}
        if party.shown_state == "active" and find_revoked(kept, self._credentials.revocations):
            return "revoked"
        return party.shown_state


class Revoking(AdminPart):
    """Takes revocation lists; a certificate that a list names stays revoked."""

    def Revoke(
        self, request: admin_pb2.RevokeRequest, context: grpc.ServicerContext
    ) -> admin_pb2.RevokeReply:
        """Put a newer list into force here, and store it in the ledger for the other replicas."""
        reason = requests.reason(request.reason)
        current = self._credentials.revocations.accept(request.revocations)
        self._write(
            context,
            revocations.apply,
            current.pem.decode("ascii"),
            number=current.number,
            revoked=len(current.serials),
            reason=reason,
        )
        return admin_pb2.RevokeReply(number=current.number, revoked=len(current.serials))
