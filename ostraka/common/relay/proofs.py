"""Who is at the ends of a control socket: each signs both nonces, which whoever ends the outer TLS cannot.

The signed text names the configured relay, so a proof for one relay is not valid for another. The nonces come
from both ends, so a proof is not accepted twice. The two directions have contexts of their own, so a proof
cannot be sent back. The signature comes with a certificate of the federation's CA.
"""

import base64
import binascii
import secrets
from dataclasses import dataclass

from cryptography import x509
from google.protobuf.message import DecodeError

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity, Role, verify_signed
from ostraka.common.identity.identity import UNREADABLE, identity_of
from ostraka.common.identity.revocation import Revocations
from ostraka.common.relay.messages import NONCE_BYTES
from ostraka.common.wire.contexts import RELAY_CONTEXT, RELAYED_SITE_CONTEXT
from ostraka.protos.ostraka.v1 import common_pb2

SKEW_S = 60.0
"""How far clocks may be off, in seconds, when a certificate's validity is checked."""


@dataclass(frozen=True)
class Exchange:
    """What both ends sign.

    Attributes:
        relay: identity of the relay for which the site is configured, and of the relay itself.
        site_nonce: the site's nonce, 32 hexadecimal digits.
        relay_nonce: the relay's nonce.
    """

    relay: Identity
    site_nonce: str
    relay_nonce: str

    def payload(self, name: str) -> bytes:
        """Return the bytes that the end called `name` signs; no part can contain a line break."""
        return "\n".join((self.relay.uri, self.site_nonce, self.relay_nonce, name)).encode()


@dataclass(frozen=True)
class Proved:
    """The identity that was proved at the other end, and its certificate."""

    identity: Identity
    certificate: x509.Certificate


def new_nonce() -> str:
    """Return a nonce from the system's randomness."""
    return secrets.token_hex(NONCE_BYTES)


def prove_relay(own: Credentials, exchange: Exchange) -> str:
    """Return a relay's proof, Base64."""
    return _encode(own.sign(RELAY_CONTEXT, exchange.payload(own.identity.server_name)))


def prove_site(own: Credentials, exchange: Exchange) -> str:
    """Return a site's proof, Base64."""
    return _encode(own.sign(RELAYED_SITE_CONTEXT, exchange.payload(own.identity.server_name)))


def check_relay(
    proof: str, exchange: Exchange, own: Credentials, clock: Clock, revocations: Revocations
) -> Proved:
    """Check a relay's proof against the relay for which this site is configured.

    Raises:
        OstrakaError: identity.*, identity.wrong_server for another relay's proof or a replayed one.
    """
    return _check(proof, RELAY_CONTEXT, exchange, own, clock, revocations, exchange.relay)


def check_site(
    proof: str, exchange: Exchange, own: Credentials, clock: Clock, revocations: Revocations
) -> Proved:
    """Return the identity of the site that attaches; any site except another relay may.

    Raises:
        OstrakaError: identity.*, identity.wrong_server for a proof for another relay, or an earlier one.
    """
    proved = _check(proof, RELAYED_SITE_CONTEXT, exchange, own, clock, revocations, None)
    if proved.identity.role is Role.RELAY:
        raise OstrakaError(
            ErrorCode.IDENTITY_WRONG_ROLE,
            f"{proved.identity.uri} attaches to a relay, which sites do; correct its site.toml.",
        )
    return proved


def _check(
    proof: str,
    context: bytes,
    exchange: Exchange,
    own: Credentials,
    clock: Clock,
    revocations: Revocations,
    expected: Identity | None,
) -> Proved:
    signed = _decode(proof)
    certificate = _certificate(signed)
    shown = expected or identity_of(certificate)
    identity = verify_signed(
        signed,
        context,
        ca_pem=own.ca_pem,
        clock=clock,
        federation=own.identity.federation,
        role=shown.role,
        site=shown.site,
        skew_s=SKEW_S,
        invalid=ErrorCode.IDENTITY_WRONG_SERVER,
        revocations=revocations,
    )
    if signed.payload != exchange.payload(identity.server_name):
        raise OstrakaError(
            ErrorCode.IDENTITY_WRONG_SERVER,
            f"The proof of {identity.uri} was made for another relay than {exchange.relay.uri}, or for"
            " another connection; correct `site` in the table [relay] of its site.toml.",
        )
    return Proved(identity, certificate)


def _encode(signed: common_pb2.Signed) -> str:
    return base64.b64encode(signed.SerializeToString()).decode("ascii")


def _decode(proof: str) -> common_pb2.Signed:
    signed = common_pb2.Signed()
    try:
        signed.ParseFromString(base64.b64decode(proof, validate=True))
    except (binascii.Error, ValueError, DecodeError) as error:
        raise _unreadable() from error
    return signed


def _certificate(signed: common_pb2.Signed) -> x509.Certificate:
    try:
        return x509.load_der_x509_certificate(signed.certificate_der)
    except UNREADABLE as error:
        raise _unreadable() from error


def _unreadable() -> OstrakaError:
    return OstrakaError(
        ErrorCode.IDENTITY_INVALID, "The proof cannot be read; run the same version of Ostraka everywhere."
    )
