"""The federation's certificate authority."""

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID as Usage
from cryptography.x509.oid import NameOID, ObjectIdentifier

from common.clock import Clock
from common.errors import ErrorCode, OstrakaError
from common.identity.credentials import CA_CERT, SIGNING_CERT, SIGNING_KEY, TLS_CERT, TLS_KEY, Credentials
from common.identity.identity import Identity, check_name

CA_KEY = "ca.key"
CA_DAYS = 3650
SITE_DAYS = 365
# Certificates begin a little before now, because clocks of sites differ.
BACKDATE = timedelta(hours=1)
TLS_USAGE = (Usage.SERVER_AUTH, Usage.CLIENT_AUTH)
# id-kp-documentSigning, RFC 9336.
SIGNING_USAGE = (ObjectIdentifier("1.3.6.1.5.5.7.3.36"),)

PrivateKey = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
PublicKey = ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey


@dataclass(frozen=True)
class CertificateAuthority:
    """Issues the certificates of one federation, all on P-256 but for the Ed25519 signing keys.

    Attributes:
        key: the CA's private key.
        certificate: the CA's own certificate.
    """

    key: ec.EllipticCurvePrivateKey = field(repr=False)
    certificate: x509.Certificate

    @classmethod
    def create(cls, federation: str, clock: Clock, *, days: float = CA_DAYS) -> "CertificateAuthority":
        """Make a CA for `federation`, valid for `days` from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name(check_name(federation), "Ostraka CA")
        builder = _builder(name, key.public_key(), name, key.public_key(), clock, days)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(_key_usage(ca=True), critical=True)
        return cls(key, builder.sign(key, hashes.SHA256()))

    @classmethod
    def load(cls, folder: Path) -> "CertificateAuthority":
        """Read a CA that `save` wrote; config.invalid where it cannot be read."""
        try:
            key = serialization.load_pem_private_key((folder / CA_KEY).read_bytes(), password=None)
            certificate = x509.load_pem_x509_certificate((folder / CA_CERT).read_bytes())
        except (OSError, ValueError, TypeError) as error:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                f"Cannot read a CA in {folder}; name the `ca` folder made by `ostraka provision`.",
            ) from error
        assert isinstance(key, ec.EllipticCurvePrivateKey)  # noqa: S101
        return cls(key, certificate)

    def save(self, folder: Path) -> None:
        """Write key (mode 0600) and certificate into `folder`, which must exist and hold neither."""
        _write_key(folder / CA_KEY, self.key)
        _write_new(folder / CA_CERT, _pem(self.certificate), 0o644)

    def issue(
        self, identity: Identity, folder: Path, clock: Clock, *, days: float = SITE_DAYS
    ) -> Credentials:
        """Write a site's keys (mode 0600), certificates and the CA's certificate into `folder`.

        Args:
            identity: whom the certificates name.
            folder: must exist and hold none of the files.
            clock: tells when the certificates begin.
            days: how long they are valid.

        Raises:
            FileExistsError: one of the files is there.
        """
        tls, signing = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()
        _write_key(folder / TLS_KEY, tls)
        _write_key(folder / SIGNING_KEY, signing)
        for name, certificate in (
            (TLS_CERT, self._issue(identity, tls.public_key(), TLS_USAGE, clock, days)),
            (SIGNING_CERT, self._issue(identity, signing.public_key(), SIGNING_USAGE, clock, days)),
            (CA_CERT, self.certificate),
        ):
            _write_new(folder / name, _pem(certificate), 0o644)
        return Credentials.load(folder)

    def _issue(
        self,
        identity: Identity,
        key: PublicKey,
        usage: tuple[ObjectIdentifier, ...],
        clock: Clock,
        days: float,
    ) -> x509.Certificate:
        subject = _name(identity.federation, identity.site)
        issuer = self.certificate.subject
        names = [x509.UniformResourceIdentifier(identity.uri), x509.DNSName(identity.server_name)]
        return (
            _builder(subject, key, issuer, self.key.public_key(), clock, days)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(ca=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usage), critical=False)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .sign(self.key, hashes.SHA256())
        )


def _name(federation: str, common: str) -> x509.Name:
    parts = ((NameOID.ORGANIZATION_NAME, federation), (NameOID.COMMON_NAME, common))
    return x509.Name([x509.NameAttribute(oid, value) for oid, value in parts])


def _builder(
    subject: x509.Name, key: PublicKey, issuer: x509.Name, issuer_key: PublicKey, clock: Clock, days: float
) -> x509.CertificateBuilder:
    now = datetime.fromtimestamp(clock.now(), UTC)
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


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _write_key(path: Path, key: PrivateKey) -> None:
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    _write_new(path, pem, 0o600)


def _write_new(path: Path, data: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
