"""Keys of a site: new keys, and installing the certificates that the CA sent back."""

from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import one_at_a_time, replace_durably, room_in
from ostraka.common.identity import Credentials, Identity
from ostraka.common.identity.certificate_requests import REQUEST, fingerprint, read_request
from ostraka.common.identity.certificates import check_certificate
from ostraka.common.identity.credentials import CA_CERT, SIGNING_CERT, SIGNING_KEY, TLS_CERT, TLS_KEY
from ostraka.common.identity.identity import UNREADABLE, identity_of
from ostraka.common.identity.revocation import CRL, read_crl
from ostraka.deploy.provisioning.sealing import check_seal
from ostraka.deploy.provisioning.signing import same_fingerprint
from ostraka.deploy.site.kit import Kit, OpenedKit, check_expected, check_follows, read_anchor, remember


def verify(folder: Path, ca_fingerprint: str, expected: str | None = None) -> OpenedKit:
    """Check a new kit's CA, and that the kit is as this CA sealed it, before reading anything else of it.

    Args:
        folder: the kit.
        ca_fingerprint: of the federation's CA, which its coordinator told separately.
        expected: SITE-ROLE or SITE-ROLE/NUMBER of the kit, as the coordinator told it; None: any.

    Returns:
        Which kit it is.

    Raises:
        OstrakaError: identity.foreign for a kit of another CA; kit.altered for files that the CA did not
            sign; data.newer for a kit of a later version; kit.unexpected for a kit of another site, or older
            than the last one opened in this folder; config.invalid for a folder that is not a kit.
    """
    ca = _check_anchor(folder, ca_fingerprint)
    seal = check_seal(folder, ca)
    identity = Kit.load(folder).identity
    kit = OpenedKit.of(identity, fingerprint(ca), seal.number, seal.made_unix_s)
    if expected is not None:
        check_expected(kit, expected)
    check_follows(folder, kit)
    return kit


def init(folder: Path, ca_fingerprint: str, expected: str | None = None) -> str:
    """Verify a new kit, make its first keys and write `request.pem`.

    Waiting keys are replaced: whoever had the kit before may have put them there, and would know them. The
    folder records which kit it is, so that no older one can follow.

    Args:
        folder: the kit.
        ca_fingerprint: of the federation's CA, which its coordinator told separately.
        expected: as for `verify`.

    Returns:
        The request's fingerprint.

    Raises:
        OstrakaError: as `verify`; config.invalid for a kit that has certificates.
    """
    with one_at_a_time(folder), room_in(folder):
        remember(folder, verify(folder, ca_fingerprint, expected))
        kit = Kit.load(folder)
        if kit.installed:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                f"{folder} has keys and certificates already; `ostraka site renew` makes new ones.",
            )
        return _publish_request(kit, kit.make_set())


def renew(folder: Path) -> str:
    """Make new keys and `request.pem` beside the keys in use, which stay until certificates are installed.

    Returns:
        The request's fingerprint.

    Raises:
        OstrakaError: config.invalid for a kit without keys.
    """
    kit = Kit.load(folder)
    with one_at_a_time(folder), room_in(folder):
        if not kit.installed and kit.waiting is None:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID, f"{folder} has no keys yet; make them with `ostraka site init`."
            )
        return _publish_request(kit, kit.make_set())


def _publish_request(kit: Kit, keys: Path) -> str:
    """Put the request of a set of keys where people find it, and return its fingerprint."""
    request = (keys / REQUEST).read_bytes()
    replace_durably(kit.folder / REQUEST, request)
    return fingerprint(read_request(request))


def _check_anchor(folder: Path, expected: str) -> x509.Certificate:
    """Return a kit's CA certificate after checking that its fingerprint is the `expected` one."""
    ca = read_anchor(folder)
    found = fingerprint(ca)
    if not same_fingerprint(found, expected):
        raise OstrakaError(
            ErrorCode.IDENTITY_FOREIGN,
            f"The CA in {folder} has fingerprint {found}, not the given one; do not use this kit, and ask"
            " the federation's coordinator for another.",
        )
    return ca


CRL_BEGIN = b"-----BEGIN X509 CRL-----"
WHOSE = "The certificate to be installed"


@dataclass(frozen=True)
class Installed:
    """The installed certificates.

    Attributes:
        identity: the identity in the certificates.
        expires_unix_s: when the first of them expires.
        renewed: whether other keys were in use before.
    """

    identity: Identity
    expires_unix_s: float
    renewed: bool


def install(folder: Path, pem: bytes, clock: Clock) -> Installed:
    """Put waiting keys into use with their certificates; change nothing if they do not fit.

    Args:
        folder: the kit.
        pem: the output of `ostraka provision sign`.
        clock: the time at which the certificates must be valid.

    Raises:
        OstrakaError: config.invalid if no keys wait or the certificates are for others; identity.* for
            certificates of another federation, site or role, or that nobody would accept.
    """
    kit = Kit.load(folder)
    with one_at_a_time(folder), room_in(folder):
        return _install(kit, pem, clock)


def _install(kit: Kit, pem: bytes, clock: Clock) -> Installed:
    keys = kit.waiting
    renewed = kit.installed
    if keys is None:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"No keys in {kit.folder} wait for certificates; make some with `ostraka site"
            f" {'renew' if renewed else 'init'}`.",
        )
    tls, signing = _certificates(kit, pem)
    revocations = _newest_list(kit, pem)
    _check(kit, keys, tls, signing, clock)
    _check_not_revoked(revocations, kit, (tls, signing))
    for name, content in (
        (TLS_CERT, _pem(tls)),
        (SIGNING_CERT, _pem(signing)),
        (CA_CERT, _pem(kit.ca)),
        (CRL, revocations),
    ):
        if content:
            replace_durably(keys / name, content)
    expires = Credentials.load(keys).expires_unix_s
    kit.use(keys)
    (kit.folder / REQUEST).unlink(missing_ok=True)
    return Installed(kit.identity, expires, renewed)


def _certificates(kit: Kit, pem: bytes) -> tuple[x509.Certificate, x509.Certificate]:
    try:
        tls, signing, ca = x509.load_pem_x509_certificates(pem)
    except UNREADABLE as error:
        raise OstrakaError(
            ErrorCode.IDENTITY_INVALID,
            "The file does not hold the certificates of a site; give the certificates.pem that `ostraka"
            " provision sign` wrote.",
        ) from error
    if ca != kit.ca:
        raise OstrakaError(
            ErrorCode.IDENTITY_FOREIGN,
            f"The certificates are of another CA than {kit.folder / CA_CERT}; ask the federation's"
            " coordinator for this kit's.",
        )
    return tls, signing


def _check(kit: Kit, keys: Path, tls: x509.Certificate, signing: x509.Certificate, clock: Clock) -> None:
    for certificate, key in ((tls, TLS_KEY), (signing, SIGNING_KEY)):
        found = identity_of(certificate)
        if found != kit.identity:
            raise OstrakaError(
                _wrong(found, kit.identity),
                f"The certificates are for {found.uri} and this kit is for {kit.identity.uri}; ask for the"
                " certificates of this kit's request.",
            )
        check_certificate(certificate, kit.ca, clock, whose=WHOSE)
        own = serialization.load_pem_private_key((keys / key).read_bytes(), password=None)
        if own.public_key() != certificate.public_key():
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                f"The certificates are for other keys than those that wait in {kit.folder}; send its"
                f" {REQUEST} to be signed, and install what comes back.",
            )


def _wrong(found: Identity, expected: Identity) -> ErrorCode:
    if found.federation != expected.federation:
        return ErrorCode.IDENTITY_FOREIGN
    return ErrorCode.IDENTITY_WRONG_ROLE if found.site == expected.site else ErrorCode.IDENTITY_INVALID


def _newest_list(kit: Kit, pem: bytes) -> bytes:
    """Return the newest of the CA's revocation lists in `pem` and in the kit; empty if there is none."""
    found = [CRL_BEGIN + pem.partition(CRL_BEGIN)[2]] if CRL_BEGIN in pem else []
    found += [path.read_bytes() for path in (kit.folder / CRL, kit.link / CRL) if path.exists()]
    return max(found, key=lambda one: read_crl(one, _pem(kit.ca)).number, default=b"")


def _check_not_revoked(revocations: bytes, kit: Kit, certificates: tuple[x509.Certificate, ...]) -> None:
    revoked = read_crl(revocations, _pem(kit.ca)).serials if revocations else frozenset()
    if revoked & {certificate.serial_number for certificate in certificates}:
        raise OstrakaError(
            ErrorCode.IDENTITY_REVOKED,
            f"{WHOSE} was revoked by the federation's CA; make new keys with `ostraka site renew`.",
        )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
