"""Certificate revocation lists: made by the CA, read by everybody."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity.certificates import time_of
from ostraka.common.identity.unreadable import UNREADABLE

CRL = "crl.pem"
CRL_DAYS = 365
"""When the next list is due at the latest; one that is late stays in force."""


@dataclass(frozen=True)
class RevocationList:
    """A list that the federation's CA signed.

    Attributes:
        number: rises with every list; zero for none.
        serials: serial numbers of the revoked certificates.
        next_update_unix_s: when the CA promised the next list.
        pem: the list as it is passed on.
    """

    number: int
    serials: frozenset[int]
    next_update_unix_s: float
    pem: bytes


NO_LIST = RevocationList(0, frozenset(), float("inf"), b"")


def make_crl(
    ca: x509.Certificate,
    key: ec.EllipticCurvePrivateKey,
    before: bytes,
    serials: Collection[int],
    clock: Clock,
) -> bytes:
    """Make the list after `before` (PEM; empty: none), with `serials` revoked as well, from now on."""
    old = x509.load_pem_x509_crl(before) if before else None
    now = time_of(clock)
    builder = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(ca.subject)
        .last_update(now)
        .next_update(now + timedelta(days=CRL_DAYS))
        .add_extension(x509.CRLNumber(1 + (0 if old is None else _number(old))), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
    )
    kept = [] if old is None else list(old)
    for entry in kept:
        builder = builder.add_revoked_certificate(entry)
    for serial in sorted(set(serials) - {entry.serial_number for entry in kept}):
        builder = builder.add_revoked_certificate(_entry(serial, now))
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def read_crl(pem: bytes, ca_pem: bytes) -> RevocationList:
    """Read a list and verify that the CA signed it.

    Raises:
        OstrakaError: identity.invalid for what is no list, identity.foreign for one of another CA.
    """
    ca = x509.load_pem_x509_certificate(ca_pem)
    key = ca.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)  # noqa: S101
    try:
        found = x509.load_pem_x509_crl(pem)
        number, until = _number(found), found.next_update_utc
        serials = frozenset(entry.serial_number for entry in found)
        genuine = found.issuer == ca.subject and found.is_signature_valid(key)
    except UNREADABLE as error:
        raise OstrakaError(
            ErrorCode.IDENTITY_INVALID,
            "The revocation list cannot be read; give the crl.pem that `ostraka provision revoke` wrote.",
        ) from error
    if not genuine:
        raise OstrakaError(
            ErrorCode.IDENTITY_FOREIGN,
            "The revocation list was not signed by this federation's CA; give this federation's crl.pem.",
        )
    return RevocationList(number, serials, until.timestamp() if until else float("inf"), pem)


def _number(crl: x509.CertificateRevocationList) -> int:
    return crl.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number


def _entry(serial: int, now: datetime) -> x509.RevokedCertificate:
    return x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(now).build()
