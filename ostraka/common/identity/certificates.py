"""The federation's keys and certificates: contents, validity, and fingerprints for people to compare."""

import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID as Usage
from cryptography.x509.oid import NameOID, ObjectIdentifier

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity.identity import UNREADABLE, Identity

TLS_KEY = "tls.key"
SIGNING_KEY = "signing.key"

PrivateKey = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
PublicKey = ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey
KeyPair = tuple[ec.EllipticCurvePrivateKey, ed25519.Ed25519PrivateKey]


def write_keys(folder: Path) -> KeyPair:
    """Make a P-256 key for TLS and an Ed25519 key for signatures, and write both (mode 0600) into `folder`.

    Raises:
        FileExistsError: if a key exists; it is never overwritten.
    """
    tls = ec.generate_private_key(ec.SECP256R1())
    signing = ed25519.Ed25519PrivateKey.generate()
    write_key(folder / TLS_KEY, tls)
    write_key(folder / SIGNING_KEY, signing)
    return tls, signing


def write_key(path: Path, key: PrivateKey) -> None:
    """Write a private key (PKCS #8, PEM, mode 0600) to a file that must not exist."""
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    write_new([(path, pem)], 0o600)


def write_new(files: Iterable[tuple[Path, bytes]], mode: int) -> None:
    """Write files that must not exist."""
    for path, data in files:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)


# Certificates begin a little before now, because clocks of sites differ.
BACKDATE = timedelta(hours=1)
TLS_USAGE = (Usage.SERVER_AUTH, Usage.CLIENT_AUTH)
# id-kp-documentSigning, RFC 9336.
SIGNING_USAGE = (ObjectIdentifier("1.3.6.1.5.5.7.3.36"),)


def time_of(clock: Clock) -> datetime:
    """Return the current time, in UTC."""
    return datetime.fromtimestamp(clock.now(), UTC)


def name_of(federation: str, common: str) -> x509.Name:
    """Return a subject: the federation as organisation, and a common name."""
    parts = ((NameOID.ORGANIZATION_NAME, federation), (NameOID.COMMON_NAME, common))
    return x509.Name([x509.NameAttribute(oid, value) for oid, value in parts])


def ca_certificate(
    key: ec.EllipticCurvePrivateKey, federation: str, clock: Clock, days: float
) -> x509.Certificate:
    """Make a CA's own certificate, valid for `days` from now."""
    name = name_of(federation, "Ostraka CA")
    builder = _builder(name, key.public_key(), name, key.public_key(), clock, days)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return builder.add_extension(_key_usage(ca=True), critical=True).sign(key, hashes.SHA256())


def site_certificate(
    identity: Identity,
    key: PublicKey,
    usage: tuple[ObjectIdentifier, ...],
    issuer: x509.Certificate,
    issuer_key: ec.EllipticCurvePrivateKey,
    clock: Clock,
    days: float,
) -> x509.Certificate:
    """Make a certificate that binds `key` to `identity`, for `usage`, for `days` from now."""
    subject = name_of(identity.federation, identity.site)
    names = [x509.UniformResourceIdentifier(identity.uri), x509.DNSName(identity.server_name)]
    return (
        _builder(subject, key, issuer.subject, issuer_key.public_key(), clock, days)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(ca=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usage), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(issuer_key, hashes.SHA256())
    )


def as_fingerprint(digest: bytes) -> str:
    """Return a SHA-256 digest in the form that people compare: SHA256:AB:CD:..."""
    return "SHA256:" + digest.hex(":").upper()


def _builder(
    subject: x509.Name, key: PublicKey, issuer: x509.Name, issuer_key: PublicKey, clock: Clock, days: float
) -> x509.CertificateBuilder:
    now = time_of(clock)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATE)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), critical=False)
    )


def _key_usage(*, ca: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not ca,
        key_cert_sign=ca,
        crl_sign=ca,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


KNOWN_CERTIFICATES = 8192
"""Number of certificates whose parsing and issuer check are cached: enough for 5,000 parties and more."""


def check_certificate(
    certificate: x509.Certificate, ca: x509.Certificate, clock: Clock, *, whose: str, skew_s: float = 0
) -> None:
    """Refuse a certificate that the CA did not issue, or that is not valid within `skew_s` seconds of now.

    Args:
        certificate: the certificate that was shown.
        ca: the federation's CA.
        clock: the clock.
        whose: name of the certificate in the message, such as "This site's certificate".
        skew_s: how far clocks may be off, in seconds.

    Raises:
        OstrakaError: identity.foreign, identity.expired or identity.not_yet_valid.
    """
    _check_issuer(certificate, ca, whose)
    check_not_expired(certificate, clock, whose=whose, skew_s=skew_s)
    if clock.now() + skew_s < certificate.not_valid_before_utc.timestamp():
        raise OstrakaError(
            ErrorCode.IDENTITY_NOT_YET_VALID,
            f"{whose} begins at {certificate.not_valid_before_utc:%Y-%m-%d %H:%M} UTC; correct the clock.",
        )


def check_not_expired(certificate: x509.Certificate, clock: Clock, *, whose: str, skew_s: float = 0) -> None:
    """Refuse a certificate that expired more than `skew_s` seconds ago; raise identity.expired."""
    if clock.now() - skew_s > certificate.not_valid_after_utc.timestamp():
        raise OstrakaError(
            ErrorCode.IDENTITY_EXPIRED,
            f"{whose} expired at {certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC; have the federation's"
            " CA issue a new one, or correct the clock.",
        )


def _check_issuer(certificate: x509.Certificate, ca: x509.Certificate, whose: str) -> None:
    try:
        _verify_issued(certificate, ca)
    except (InvalidSignature, *UNREADABLE) as error:
        raise OstrakaError(
            ErrorCode.IDENTITY_FOREIGN,
            f"{whose} was not issued by this federation's CA; use the folder that `ostraka provision` made"
            " for this federation.",
        ) from error


@lru_cache(KNOWN_CERTIFICATES)
def _verify_issued(certificate: x509.Certificate, ca: x509.Certificate) -> None:
    """Raise if the CA did not sign the certificate; exceptions are not cached."""
    certificate.verify_directly_issued_by(ca)
