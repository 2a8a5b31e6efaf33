"""A site's own keys and certificates, read from its folder."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity.certificates import SIGNING_KEY, TLS_KEY, check_certificate
from ostraka.common.identity.identity import UNREADABLE, Identity, identity_of
from ostraka.common.identity.revocation import CRL, Revocations
from ostraka.protos.ostraka.v1 import common_pb2

if TYPE_CHECKING:
    from ostraka.common.config import SiteConfig

__all__ = ["CA_CERT", "SIGNING_CERT", "SIGNING_KEY", "TLS_CERT", "TLS_KEY", "Credentials"]

TLS_CERT = "tls.crt"
SIGNING_CERT = "signing.crt"
CA_CERT = "ca.crt"


@dataclass(frozen=True)
class Credentials:
    """A site's certificates and keys: a P-256 certificate for TLS and an Ed25519 one for signatures.

    Attributes:
        identity: the identity in the certificates.
        folder: where they were read from.
        tls_key_pem: private key of the TLS certificate.
        tls_cert_pem: the TLS certificate.
        signing_key_pem: private key of the signing certificate.
        signing_cert_pem: the signing certificate.
        ca_pem: certificate of the federation's CA.
        lists: folders that may contain its revocation list; a newer one is stored in the last.
    """

    identity: Identity
    folder: Path
    tls_key_pem: bytes = field(repr=False)
    tls_cert_pem: bytes = field(repr=False)
    signing_key_pem: bytes = field(repr=False)
    signing_cert_pem: bytes = field(repr=False)
    ca_pem: bytes = field(repr=False)
    lists: tuple[Path, ...] = field(default=(), kw_only=True)

    @classmethod
    def of(cls, site: "SiteConfig") -> "Credentials":
        """Read the keys and certificates of a site from the folder that its `site.toml` names.

        A revocation list that the site receives is stored in the site's own folder, because the folder of the
        keys may be read-only.

        Raises:
            OstrakaError: config.invalid for files that cannot be read, or for certificates with another
                federation, site or role than `site.toml`.
        """
        folder = site.folder / site.credentials
        credentials = cls.load(folder, lists=(folder, site.folder))
        named = (site.federation, site.site, site.role)
        found = credentials.identity
        if (found.federation, found.site, found.role) != named:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                f"The certificates in {folder} name {found.uri} and {site.folder / 'site.toml'} names"
                f" ostraka://{'/'.join(named)}; install this site's own certificates, or correct"
                " site.toml.",
            )
        return credentials

    @classmethod
    def load(cls, folder: Path, *, lists: tuple[Path, ...] = ()) -> "Credentials":
        """Read the five files of a folder; it also contains revocation lists unless `lists` names folders.

        Raises:
            OstrakaError: config.invalid for a file that is missing, unreadable or does not fit the others.
        """
        names = (TLS_KEY, TLS_CERT, SIGNING_KEY, SIGNING_CERT, CA_CERT)
        pems = [_read(folder / name) for name in names]
        try:
            tls, signing = (x509.load_pem_x509_certificate(pem) for pem in (pems[1], pems[3]))
            keys = [serialization.load_pem_private_key(pem, password=None) for pem in (pems[0], pems[2])]
            x509.load_pem_x509_certificate(pems[4])
        except UNREADABLE as error:
            raise _unfit(folder, "hold a key or certificate that cannot be read") from error
        if [key.public_key() for key in keys] != [tls.public_key(), signing.public_key()]:
            raise _unfit(folder, "hold a key that does not belong to its certificate")
        if not isinstance(keys[1], Ed25519PrivateKey) or identity_of(tls) != identity_of(signing):
            raise _unfit(folder, "hold certificates of different identities or kinds")
        return cls(identity_of(tls), folder, *pems, lists=lists or (folder,))

    @cached_property
    def _signing_key(self) -> Ed25519PrivateKey:
        key = serialization.load_pem_private_key(self.signing_key_pem, password=None)
        assert isinstance(key, Ed25519PrivateKey)  # noqa: S101
        return key

    @cached_property
    def signing_cert(self) -> x509.Certificate:
        """The signing certificate, parsed."""
        return x509.load_pem_x509_certificate(self.signing_cert_pem)

    @cached_property
    def tls_cert(self) -> x509.Certificate:
        """The TLS certificate, parsed."""
        return x509.load_pem_x509_certificate(self.tls_cert_pem)

    @cached_property
    def revocations(self) -> Revocations:
        """Which certificates of the federation are revoked."""
        return Revocations([folder / CRL for folder in self.lists], self.ca_pem)

    @property
    def expires_unix_s(self) -> float:
        """When the first of the two certificates expires, in Unix seconds."""
        both = (self.tls_cert, self.signing_cert)
        return min(certificate.not_valid_after_utc.timestamp() for certificate in both)

    @property
    def signing_public_key(self) -> bytes:
        """The raw Ed25519 public key, 32 bytes."""
        return self._signing_key.public_key().public_bytes_raw()

    def check_valid(self, clock: Clock) -> None:
        """Refuse own certificates that no other site would accept now.

        Raises:
            OstrakaError: identity.foreign, identity.expired, identity.not_yet_valid, identity.revoked, or as
                `Revocations.require_readable`.
        """
        ca = x509.load_pem_x509_certificate(self.ca_pem)
        whose = f"The certificate in {self.folder}"
        for certificate in (self.tls_cert, self.signing_cert):
            check_certificate(certificate, ca, clock, whose=whose)
            self.revocations.check(certificate, whose)
        self.revocations.require_readable()

    def sign(self, context: bytes, payload: bytes) -> common_pb2.Signed:
        """Sign `payload` for one use, named by `context`: Ed25519 over context, a zero byte, payload."""
        return common_pb2.Signed(
            payload=payload,
            signature=self._signing_key.sign(context + b"\0" + payload),
            certificate_der=self.signing_cert.public_bytes(serialization.Encoding.DER),
        )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"Cannot read {path}: {error.strerror}; name a site's folder, with keys and certificates from"
            " `ostraka site init` and `install`.",
        ) from error


def _unfit(folder: Path, problem: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.CONFIG_INVALID,
        f"The credentials in {folder} {problem}; put back a copy of it, or make new keys with"
        " `ostraka site renew`.",
    )
