"""Who is at the ends of a control socket: each signs both nonces, so that whoever ends the outer TLS cannot.

What is signed names the configured relay, so that a proof for one relay is none for another; the nonces are
both ends' own, so that no proof is taken twice; and the two directions have contexts of their own, so that
none is sent back. A certificate of the federation's CA comes with the signature.
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
"""How far clocks may be off, in seconds, where a certificate's validity is checked."""


@dataclass(frozen=True)
class Exchange:
    """What both ends sign.

    Attributes:
        relay: identity of the relay that the site is configured for, and of the relay itself.
        site_nonce: the site's, 32 hexadecimal digits.
        relay_nonce: the relay's.
    """

    relay: Identity
    site_nonce: str
    relay_nonce: str

    def payload(self, name: str) -> bytes:
        """Return the bytes that whoever is called `name` signs; no part can hold a line break."""
        return "\n".join((self.relay.uri, self.site_nonce, self.relay_nonce, name)).encode()


@dataclass(frozen=True)
class Proved:
    """Who proved to be at the other end, and by which certificate."""

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
    """Hold what a relay shows against the relay that this site is configured for.

    Raises:
        OstrakaError: identity.*, identity.wrong_server for another relay's proof or a replayed one.
    """
    return _check(proof, RELAY_CONTEXT, exchange, own, clock, revocations, exchange.relay)


def check_site(
    proof: str, exchange: Exchange, own: Credentials, clock: Clock, revocations: Revocations
) -> Proved:
    """Return which site attaches; any but another relay may.

    Raises:
        OstrakaError: identity.*, identity.wrong_server for a proof that was made for another relay or
            before.
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
