"""Verification of signed messages: signer, purpose and integrity."""

from functools import lru_cache
from typing import TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from google.protobuf.message import DecodeError, Message

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity.certificates import check_certificate
from ostraka.common.identity.identity import UNREADABLE, Identity, Role, identity_of
from ostraka.common.identity.revocation import Revocations
from ostraka.common.wire.limits import check_limits, check_numbers
from ostraka.protos.ostraka.v1 import common_pb2

M = TypeVar("M", bound=Message)


def verify_signed(
    signed: common_pb2.Signed,
    context: bytes,
    *,
    ca_pem: bytes,
    clock: Clock,
    federation: str,
    role: Role,
    site: str | None = None,
    skew_s: float = 0,
    invalid: ErrorCode = ErrorCode.MESSAGE_INVALID,
    revocations: Revocations | None = None,
) -> Identity:
    """Verify a signature and its certificate, and return the signer's identity.

    Args:
        signed: payload, signature and the signer's certificate.
        context: the purpose for which the signature must have been made.
        ca_pem: certificate of the federation's CA.
        clock: the clock, for the certificate's validity.
        federation: the signer's federation.
        role: the signer's role.
        site: the signer's site; None accepts every site.
        skew_s: how far clocks may be off, in seconds.
        invalid: the code for a signature that does not fit, or another site's.
        revocations: certificates whose signatures no longer count; None if earlier signatures still count, as
            in the audit log.

    Raises:
        OstrakaError: identity.foreign, identity.expired, identity.not_yet_valid, identity.revoked,
            identity.invalid, identity.wrong_role, or `invalid`.
    """
    certificate, key = _signer(signed, invalid)
    check_certificate(certificate, _authority(ca_pem), clock, whose="The signer's certificate", skew_s=skew_s)
    if revocations is not None:
        revocations.check(certificate, "The signer's certificate")
    identity = identity_of(certificate)
    _check_identity(identity, federation, role, site, invalid)
    try:
        key.verify(signed.signature, context + b"\0" + signed.payload)
    except InvalidSignature as error:
        raise _refusal(invalid, f"The signature of {identity.uri} does not fit") from error
    return identity


def read_signed(
    signed: common_pb2.Signed,
    context: bytes,
    message: M,
    *,
    signer: Identity,
    ca_pem: bytes,
    clock: Clock,
    invalid: ErrorCode,
    revocations: Revocations | None = None,
) -> M:
    """Parse what `signer`, and nobody else, signed into `message`, and return it.

    Raises as `verify_signed`, `message.too_large` for lists and texts beyond their limits, and
    `message.invalid` for numbers that mean nothing.
    """
    verify_signed(
        signed,
        context,
        ca_pem=ca_pem,
        clock=clock,
        federation=signer.federation,
        role=signer.role,
        site=signer.site,
        invalid=invalid,
        revocations=revocations,
    )
    try:
        message.ParseFromString(signed.payload)
    except DecodeError as error:
        raise OstrakaError(
            invalid, f"What {signer.uri} signed cannot be read: use the same version everywhere."
        ) from error
    check_limits(message)
    check_numbers(message)
    return message


_authority = lru_cache(16)(x509.load_pem_x509_certificate)
"""The parsed certificate of a CA, cached."""


def _signer(signed: common_pb2.Signed, invalid: ErrorCode) -> tuple[x509.Certificate, Ed25519PublicKey]:
    try:
        certificate = x509.load_der_x509_certificate(signed.certificate_der)
        key = certificate.public_key()
    except UNREADABLE as error:
        raise _refusal(invalid, "The signer's certificate cannot be read") from error
    if not isinstance(key, Ed25519PublicKey):
        raise _refusal(invalid, "The signer's certificate is not for signing")
    return certificate, key


def _check_identity(
    identity: Identity, federation: str, role: Role, site: str | None, invalid: ErrorCode
) -> None:
    if identity.federation != federation:
        raise OstrakaError(
            ErrorCode.IDENTITY_FOREIGN,
            f"{identity.uri} signed, which is not of federation {federation}; ask a member of {federation}.",
        )
    if identity.role is not role:
        raise OstrakaError(
            ErrorCode.IDENTITY_WRONG_ROLE,
            f"{identity.uri} signed where a {role} must; have it signed with a {role} certificate.",
        )
    if site is not None and identity.site != site:
        raise _refusal(invalid, f"{identity.uri} signed, not site {site}")


def _refusal(code: ErrorCode, problem: str) -> OstrakaError:
    return OstrakaError(code, f"{problem}; send the message exactly as its signer made it.")
