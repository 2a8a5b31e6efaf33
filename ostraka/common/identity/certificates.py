"""Contents of the federation's certificates, and fingerprints for people to compare."""

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID as Usage
from cryptography.x509.oid import NameOID, ObjectIdentifier

from ostraka.common.clock import Clock
from ostraka.common.identity.identity import Identity
from ostraka.common.identity.keys import PublicKey

# Certificates begin a little before now, because clocks of sites differ.
BACKDATE = timedelta(hours=1)
TLS_USAGE = (Usage.SERVER_AUTH, Usage.CLIENT_AUTH)
# id-kp-documentSigning, RFC 9336.
SIGNING_USAGE = (ObjectIdentifier("1.3.6.1.5.5.7.3.36"),)


def time_of(clock: Clock) -> datetime:
    """Now, in UTC."""
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
    """Make a certificate that says that `key` is `identity`'s, for `usage`, for `days` from now."""
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
    """Return a SHA-256 digest as people read it to each other: SHA256:AB:CD:..."""
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
