"""The federation's certificate authority, and its log of what it issued, `issued.jsonl` in its folder."""

import json
import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pydantic import BaseModel, ConfigDict, ValidationError

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import replace_durably
from ostraka.common.identity.certificate_requests import SigningRequest
from ostraka.common.identity.certificates import (
    SIGNING_USAGE,
    TLS_USAGE,
    PublicKey,
    ca_certificate,
    site_certificate,
    write_key,
    write_keys,
    write_new,
)
from ostraka.common.identity.credentials import CA_CERT, SIGNING_CERT, TLS_CERT, Credentials
from ostraka.common.identity.identity import UNREADABLE, Identity, check_name
from ostraka.common.identity.revocation import CRL, make_crl, read_crl

ISSUED = "issued.jsonl"


@dataclass(frozen=True)
class Issued:
    """One certificate.

    Attributes:
        identity: the identity in it.
        use: the purpose of its key.
        serial: its serial number.
        issued_unix_s: when it was issued.
        until_unix_s: when it expires.
    """

    identity: Identity
    use: Literal["tls", "signing"]
    serial: int
    issued_unix_s: int
    until_unix_s: int


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid")

    identity: str
    use: Literal["tls", "signing"]
    serial: str
    issued_unix_s: int
    until_unix_s: int


def record(
    folder: Path,
    identity: Identity,
    certificates: Iterable[tuple[Literal["tls", "signing"], x509.Certificate]],
    now: float,
) -> None:
    """Append certificates to a CA's log, durable on return.

    A line that a crash cut short is dropped, because nobody ever received its certificate.
    """
    lines = [
        _Line(
            identity=identity.uri,
            use=use,
            serial=f"{certificate.serial_number:x}",
            issued_unix_s=int(now),
            until_unix_s=int(certificate.not_valid_after_utc.timestamp()),
        )
        for use, certificate in certificates
    ]
    path = folder / ISSUED
    if path.exists() and path.read_bytes() != _whole(path):
        replace_durably(path, _whole(path))
    with path.open("ab") as file:
        file.writelines(json.dumps(line.model_dump()).encode() + b"\n" for line in lines)
        file.flush()
        os.fsync(file.fileno())


def read_issued(folder: Path) -> list[Issued]:
    """Return everything a CA issued, the oldest first; empty if there is no log.

    Raises:
        OstrakaError: config.invalid for a log that cannot be read.
    """
    path = folder / ISSUED
    if not path.exists():
        return []
    try:
        lines = [_Line.model_validate_json(line) for line in _whole(path).splitlines()]
        return [
            Issued(
                Identity.parse(line.identity),
                line.use,
                int(line.serial, 16),
                line.issued_unix_s,
                line.until_unix_s,
            )
            for line in lines
        ]
    except (OSError, ValueError, ValidationError, OstrakaError) as error:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"{path} cannot be read as a CA wrote it; restore it from a copy."
        ) from error


def _whole(path: Path) -> bytes:
    """Return a log's complete lines with their ends; drop the last one if a crash cut it short."""
    *lines, last = path.read_bytes().split(b"\n")
    try:
        _Line.model_validate_json(last)
        lines.append(last)
    except ValidationError:
        pass
    return b"".join(line + b"\n" for line in lines)


CA_KEY = "ca.key"
CA_DAYS = 3650
SITE_DAYS = 365


@dataclass(frozen=True)
class CertificateAuthority:
    """Issues the certificates of one federation, all on P-256 except the Ed25519 signing keys.

    Attributes:
        key: the CA's private key.
        certificate: the CA's own certificate.
        folder: where it logs what it issues and revokes; None for a CA that was never saved, which logs
            nothing.
    """

    key: ec.EllipticCurvePrivateKey = field(repr=False)
    certificate: x509.Certificate
    folder: Path | None = None

    @classmethod
    def create(cls, federation: str, clock: Clock, *, days: float = CA_DAYS) -> "CertificateAuthority":
        """Make a CA for `federation`, valid for `days` from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        return cls(key, ca_certificate(key, check_name(federation), clock, days))

    @classmethod
    def load(cls, folder: Path) -> "CertificateAuthority":
        """Read a CA that `save` wrote; raise config.invalid if it cannot be read."""
        try:
            key = serialization.load_pem_private_key((folder / CA_KEY).read_bytes(), password=None)
            certificate = x509.load_pem_x509_certificate((folder / CA_CERT).read_bytes())
        except (OSError, *UNREADABLE) as error:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                f"Cannot read a CA in {folder}; name the `ca` folder made by `ostraka provision`.",
            ) from error
        assert isinstance(key, ec.EllipticCurvePrivateKey)  # noqa: S101
        return cls(key, certificate, folder)

    def save(self, folder: Path) -> "CertificateAuthority":
        """Write key (mode 0600) and certificate into `folder`, which must exist and contain neither.

        Returns:
            This CA, which from now on logs what it issues there.
        """
        write_key(folder / CA_KEY, self.key)
        write_new([(folder / CA_CERT, _pem(self.certificate))], 0o644)
        return CertificateAuthority(self.key, self.certificate, folder)

    @property
    def federation(self) -> str:
        """The federation whose certificates it issues."""
        (name,) = self.certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
        return str(name.value)

    def issue(
        self, identity: Identity, folder: Path, clock: Clock, *, days: float = SITE_DAYS
    ) -> Credentials:
        """Write a site's keys (mode 0600), certificates and the CA's certificate into `folder`.

        For simulations and tests: a real site makes its own keys, and `sign` certifies them.

        Args:
            identity: the identity in the certificates.
            folder: must exist and contain none of the files.
            clock: determines when the certificates begin.
            days: how long they are valid.

        Raises:
            FileExistsError: if one of the files exists.
        """
        tls, signing = write_keys(folder)
        pems = self._certify(identity, tls.public_key(), signing.public_key(), clock, days)
        names = (TLS_CERT, SIGNING_CERT, CA_CERT)
        write_new([(folder / name, pem) for name, pem in zip(names, pems, strict=True)], 0o644)
        return Credentials.load(folder)

    def sign(self, request: SigningRequest, clock: Clock, *, days: float = SITE_DAYS) -> bytes:
        """Certify a site's keys.

        Args:
            request: the site's request; whoever signs must have compared its fingerprint with the site.
            clock: determines when the certificates begin.
            days: how long they are valid.

        Returns:
            The TLS, the signing and the CA's certificate, concatenated (PEM).

        Raises:
            OstrakaError: identity.foreign for a request that names another federation.
        """
        if request.identity.federation != self.federation:
            raise OstrakaError(
                ErrorCode.IDENTITY_FOREIGN,
                f"The request is for {request.identity.uri}, and this is the CA of {self.federation}; sign"
                " it with the CA of its own federation.",
            )
        return b"".join(self._certify(request.identity, request.tls_key, request.signing_key, clock, days))

    def seal(self, context: bytes, payload: bytes) -> bytes:
        """Sign data other than certificates, only valid for `context`; ECDSA with SHA-256, DER."""
        return self.key.sign(context + b"\0" + payload, ec.ECDSA(hashes.SHA256()))

    def issuances(self) -> list[Issued]:
        """Return everything in this CA's log of issued certificates, the oldest first."""
        return [] if self.folder is None else read_issued(self.folder)

    def revocations(self) -> frozenset[int]:
        """Return the serial numbers on its revocation list."""
        before = self._crl()
        return read_crl(before, _pem(self.certificate)).serials if before else frozenset()

    def revoke(self, serials: Collection[int], clock: Clock) -> bytes:
        """Revoke certificates by serial number; revocations are permanent.

        Returns:
            The next list (PEM), which is also written to the CA's folder.
        """
        pem = make_crl(self.certificate, self.key, self._crl(), serials, clock)
        if self.folder is not None:
            replace_durably(self.folder / CRL, pem)
        return pem

    def _crl(self) -> bytes:
        if self.folder is None or not (self.folder / CRL).exists():
            return b""
        return (self.folder / CRL).read_bytes()

    def _certify(
        self, identity: Identity, tls: PublicKey, signing: PublicKey, clock: Clock, days: float
    ) -> tuple[bytes, bytes, bytes]:
        """Return the site's two certificates and the CA's, logged before anybody has them."""
        issued = [
            site_certificate(identity, key, usage, self.certificate, self.key, clock, days)
            for key, usage in ((tls, TLS_USAGE), (signing, SIGNING_USAGE))
        ]
        if self.folder is not None:
            record(self.folder, identity, zip(("tls", "signing"), issued, strict=True), clock.now())
        return _pem(issued[0]), _pem(issued[1]), _pem(self.certificate)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
