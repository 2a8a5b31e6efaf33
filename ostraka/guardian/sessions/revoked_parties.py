"""Parties whose manifest was signed with a certificate that is revoked now: nobody asks them."""

from __future__ import annotations

from collections.abc import Mapping

from cryptography.x509 import load_der_x509_certificate

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity.revocation import Revocations
from ostraka.guardian.ledger import StoredManifest
from ostraka.protos.ostraka.v1 import common_pb2


def revoked_sites(manifests: Mapping[str, StoredManifest], revocations: Revocations) -> set[str]:
    """Return the sites that must register with a new certificate before they answer again."""
    if not revocations.number:
        return set()
    return {site for site, stored in manifests.items() if _is_revoked(stored, revocations)}


def check_signers(manifests: Mapping[str, StoredManifest], revocations: Revocations) -> None:
    """Raise `party.suspended` for a party whose manifest nobody vouches for any more."""
    for site in sorted(revoked_sites(manifests, revocations)):
        raise OstrakaError(
            ErrorCode.PARTY_SUSPENDED,
            f"The certificate that party {site} registered with was revoked; leave it out of the plan until"
            " it registered with a new one.",
            party=site,
        )


def _is_revoked(stored: StoredManifest, revocations: Revocations) -> bool:
    signed = common_pb2.Signed.FromString(stored.signed)
    return revocations.revokes(load_der_x509_certificate(signed.certificate_der))
