"""Caller identity from the peer's certificate."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import grpc

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity, Role
from ostraka.common.identity.identity import SCHEME

# Without TLS, on loopback, callers are believed to be who they claim to be.
CLAIM = "ostraka-identity"
OPEN_SERVICES = ("/grpc.health.", "/grpc.reflection.", "/ostraka.v1.Site/")


@dataclass(frozen=True)
class Peer:
    """The identity of a caller, and its certificate (PEM), or None without TLS."""

    identity: Identity
    certificate: bytes | None


_KNOWN: WeakKeyDictionary[grpc.ServicerContext, Peer] = WeakKeyDictionary()
"""Peers of ongoing calls; cached because gRPC translates all TLS data anew at every request for it."""


def read_peer(context: grpc.ServicerContext) -> Peer:
    """Return the caller; without TLS the claimed identity.

    Raises:
        OstrakaError: identity.invalid if there is none.
    """
    known = _KNOWN.get(context)
    if known is None:
        known = _KNOWN[context] = _read_peer(context)
    return known


def peer_identity(context: grpc.ServicerContext) -> Identity:
    """Return the identity of the caller; raises as `read_peer`."""
    return read_peer(context).identity


def _read_peer(context: grpc.ServicerContext) -> Peer:
    auth: Mapping[str, Any] = context.auth_context()
    if b"ssl" in auth.get("transport_security_type", ()):
        names = [name.decode("ascii", "replace") for name in auth.get("x509_subject_alternative_name", ())]
        uris = [name for name in names if name.startswith(SCHEME)]
    else:
        uris = [str(value) for key, value in context.invocation_metadata() if key == CLAIM]
    if len(uris) != 1:
        raise OstrakaError(
            ErrorCode.IDENTITY_INVALID,
            "The caller shows no Ostraka identity; use a certificate made by `ostraka provision`.",
        )
    return Peer(Identity.parse(uris[0]), next(iter(auth.get("x509_pem_cert", ())), None))


def check_peer(
    context: grpc.ServicerContext,
    method: str,
    roles: Mapping[str, frozenset[Role]],
    federation: str | None,
) -> Identity:
    """Return the caller; refuse one of another federation or with a role that may not call `method`.

    Args:
        context: the call's context.
        method: its full name, /package.Service/Method.
        roles: the roles that may call each method; health, reflection and Site are open to every role.
        federation: the server's own; None if it has no certificate.

    Raises:
        OstrakaError: identity.foreign, identity.wrong_role or identity.invalid.
    """
    peer = peer_identity(context)
    if federation is not None and peer.federation != federation:
        raise OstrakaError(
            ErrorCode.IDENTITY_FOREIGN,
            f"{peer.uri} is not of federation {federation}; call with a certificate of {federation}.",
        )
    if method.startswith(OPEN_SERVICES) or peer.role in roles.get(method, ()):
        return peer
    wanted = " or ".join(sorted(roles.get(method, ()))) or "nobody"
    raise OstrakaError(
        ErrorCode.IDENTITY_WRONG_ROLE,
        f"{peer.uri} may not call {method.rpartition('/')[2]}, which is for {wanted}; call with a"
        " certificate of that role.",
    )
