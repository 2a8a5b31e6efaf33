"""Operations of the CA's operator: sign requests of sites, and revoke certificates."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import one_at_a_time, room_in
from ostraka.common.identity import CertificateAuthority, Identity, Role
from ostraka.common.identity.ca import Issued
from ostraka.common.identity.certificate_requests import SigningRequest, fingerprint, read_request
from ostraka.common.identity.revocation import CRL
from ostraka.deploy.provisioning.federation_file import FEDERATION_FILE, FederationFile, load_federation


@dataclass(frozen=True)
class Signed:
    """A signed request.

    Attributes:
        identity: the identity in the certificates.
        fingerprint: of the request.
        certificates: for the site to install (PEM), with the revocation list in force.
        days: how long they are valid.
    """

    identity: Identity
    fingerprint: str
    certificates: bytes
    days: int


@dataclass(frozen=True)
class Revoked:
    """The result of a revocation.

    Attributes:
        identity: the identity whose certificates are no longer valid.
        certificates: number of revoked certificates.
        list_file: the next revocation list, for the guardian's administrator to distribute.
    """

    identity: Identity
    certificates: int
    list_file: Path


def sign_request(
    pem: bytes, ca: Path, clock: Clock, *, expected: str | None = None, again: bool = False
) -> Signed:
    """Certify the keys in a site's request.

    Args:
        pem: the site's `request.pem`.
        ca: the CA's folder, with the `federation.toml` that says who may have certificates.
        clock: the time when the certificates begin.
        expected: the request's fingerprint as the site read it out; None: not compared here.
        again: whether the site may have certificates already, which stay valid.

    Raises:
        OstrakaError: identity.invalid, identity.foreign or identity.wrong_role for a request that may not be
            signed; config.invalid for a CA that cannot be read, or a site that was signed already.
    """
    request = read_request(pem)
    authority = CertificateAuthority.load(ca)
    federation = load_federation(ca / FEDERATION_FILE)
    _check_fingerprint(request, expected)
    _check_named(request.identity, federation)
    with one_at_a_time(ca), room_in(ca):
        if not again:
            _check_new(request.identity, _valid(authority, request.identity, clock))
        certificates = authority.sign(request, clock, days=federation.days)
        certificates += revocation_list(authority, clock)
    return Signed(request.identity, fingerprint(request), certificates, federation.days)


def revoke_site(site: str, role: Role, ca: Path, clock: Clock) -> Revoked:
    """Revoke every certificate of a site in a role, with the next revocation list.

    A list is written even if all of them were revoked before, to replace an overdue list.

    Raises:
        OstrakaError: config.invalid for a CA that cannot be read, or that never signed for the site.
    """
    authority = CertificateAuthority.load(ca)
    identity = Identity(authority.federation, site, role)
    if not any(issued.identity == identity for issued in authority.issuances()):
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"{identity.uri} never had a certificate of this CA; check the site's name and --role.",
        )
    with one_at_a_time(ca), room_in(ca):
        valid = _valid(authority, identity, clock)
        authority.revoke([issued.serial for issued in valid], clock)
    return Revoked(identity, len(valid), ca / CRL)


def revocation_list(authority: CertificateAuthority, clock: Clock) -> bytes:
    """Return the list in force (PEM) of a saved CA; create an empty one if there is none yet."""
    assert authority.folder is not None  # noqa: S101
    path = authority.folder / CRL
    return path.read_bytes() if path.exists() else authority.revoke((), clock)


def same_fingerprint(one: str, other: str) -> bool:
    """Whether two fingerprints are equal, whatever their notation."""
    return _plain(one) == _plain(other)


def _plain(fingerprint: str) -> str:
    return fingerprint.strip().upper().removeprefix("SHA256:").replace(":", "").replace(" ", "")


def _check_fingerprint(request: SigningRequest, expected: str | None) -> None:
    if expected is not None and not same_fingerprint(expected, fingerprint(request)):
        raise OstrakaError(
            ErrorCode.IDENTITY_INVALID,
            f"The request's fingerprint is {fingerprint(request)}, not the expected one; ask the site for its"
            " request.pem again, by another way.",
        )


def _check_new(identity: Identity, valid: list[Issued]) -> None:
    if valid:
        when = datetime.fromtimestamp(valid[-1].issued_unix_s, UTC)
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"{identity.uri} has certificates since {when:%Y-%m-%d %H:%M} UTC; sign with --again if it renews"
            " its keys, or revoke the old ones first.",
        )


def _check_named(identity: Identity, federation: FederationFile) -> None:
    if identity in federation.identities:
        return
    if identity.federation != federation.federation:
        raise OstrakaError(
            ErrorCode.IDENTITY_FOREIGN,
            f"The request is for {identity.uri}, and this is the CA of {federation.federation}; sign it with"
            " the CA of its own federation.",
        )
    roles = [known.role for known in federation.identities if known.site == identity.site]
    held = f"{identity.site} is {' and '.join(roles)}" if roles else f"no site is called {identity.site}"
    raise OstrakaError(
        ErrorCode.IDENTITY_WRONG_ROLE if roles else ErrorCode.IDENTITY_FOREIGN,
        f"The request is for {identity.uri}, but in the CA's {FEDERATION_FILE} {held}; sign requests of its"
        " sites and roles alone.",
    )


def _valid(authority: CertificateAuthority, identity: Identity, clock: Clock) -> list[Issued]:
    """Certificates of an identity that neither expired nor were revoked, the oldest first."""
    revoked: Collection[int] = authority.revocations()
    return [
        issued
        for issued in authority.issuances()
        if issued.identity == identity and issued.until_unix_s > clock.now() and issued.serial not in revoked
    ]
