"""Signing requests: keys are made at the site, and only public parts travel to the CA."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity.certificates import PrivateKey, as_fingerprint, name_of, write_keys, write_new
from ostraka.common.identity.identity import UNREADABLE, Identity, identity_of

REQUEST = "request.pem"


@dataclass(frozen=True)
class SigningRequest:
    """What a site asks the CA to certify.

    Attributes:
        identity: the identity in both requests.
        tls: the request for the P-256 key.
        signing: the request for the Ed25519 key.
    """

    identity: Identity
    tls: x509.CertificateSigningRequest
    signing: x509.CertificateSigningRequest

    @property
    def tls_key(self) -> ec.EllipticCurvePublicKey:
        """The public key for TLS."""
        key = self.tls.public_key()
        assert isinstance(key, ec.EllipticCurvePublicKey)  # noqa: S101
        return key

    @property
    def signing_key(self) -> ed25519.Ed25519PublicKey:
        """The public key for signatures."""
        key = self.signing.public_key()
        assert isinstance(key, ed25519.Ed25519PublicKey)  # noqa: S101
        return key


def make_keys(identity: Identity, folder: Path) -> SigningRequest:
    """Write new keys (mode 0600) and `request.pem` into `folder`, and return the request.

    Raises:
        FileExistsError: if a key or a request exists; none is overwritten.
    """
    if (folder / REQUEST).exists():
        raise FileExistsError(folder / REQUEST)
    tls, signing = write_keys(folder)
    made = SigningRequest(
        identity, _request(identity, tls, hashes.SHA256()), _request(identity, signing, None)
    )
    pem = b"".join(part.public_bytes(serialization.Encoding.PEM) for part in (made.tls, made.signing))
    write_new([(folder / REQUEST, pem)], 0o644)
    return made


def read_request(pem: bytes) -> SigningRequest:
    """Read a request that `make_keys` wrote, and verify that its sender has both private keys.

    Raises:
        OstrakaError: identity.invalid.
    """
    parts = [_BEGIN + part for part in pem.split(_BEGIN)[1:]]
    if len(parts) != 2:
        raise _invalid("does not hold two requests")
    try:
        tls, signing = (x509.load_pem_x509_csr(part) for part in parts)
        keys = tls.public_key(), signing.public_key()
        signed = tls.is_signature_valid and signing.is_signature_valid
    except UNREADABLE as error:
        raise _invalid("cannot be read") from error
    if not signed:
        raise _invalid("is not signed with the keys it names")
    p256 = isinstance(keys[0], ec.EllipticCurvePublicKey) and isinstance(keys[0].curve, ec.SECP256R1)
    if not p256 or not isinstance(keys[1], ed25519.Ed25519PublicKey):
        raise _invalid("does not hold a P-256 key and then an Ed25519 key")
    if identity_of(tls) != identity_of(signing):
        raise _invalid("names two identities")
    return SigningRequest(identity_of(tls), tls, signing)


def fingerprint(shown: x509.Certificate | SigningRequest) -> str:
    """Return SHA256:AB:CD:... of a certificate, or of a request's two parts, for comparison out of band."""
    if isinstance(shown, SigningRequest):
        der = serialization.Encoding.DER
        parts = shown.tls.public_bytes(der) + shown.signing.public_bytes(der)
        return as_fingerprint(hashlib.sha256(parts).digest())
    return as_fingerprint(shown.fingerprint(hashes.SHA256()))


_BEGIN = b"-----BEGIN CERTIFICATE REQUEST-----"


def _request(
    identity: Identity, key: PrivateKey, digest: hashes.SHA256 | None
) -> x509.CertificateSigningRequest:
    names = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(identity.uri)])
    builder = x509.CertificateSigningRequestBuilder(name_of(identity.federation, identity.site))
    return builder.add_extension(names, critical=False).sign(key, digest)


def _invalid(problem: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.IDENTITY_INVALID,
        f"The signing request {problem}; send the request.pem that `ostraka site init` made.",
    )
