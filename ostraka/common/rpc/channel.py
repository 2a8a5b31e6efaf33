"""gRPC channels that verify the identity of the called server."""

from functools import cache

import grpc
from grpc.experimental import ChannelOptions
from grpc.experimental.session_cache import SSLSessionCache, ssl_session_cache_lru

from ostraka.common.clock import Clock, SystemClock
from ostraka.common.config import is_loopback
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity
from ostraka.common.rpc import keepalive
from ostraka.common.rpc.checked import CheckedAsyncChannel, CheckedChannel
from ostraka.common.rpc.metered import Traced
from ostraka.common.rpc.peers import CLAIM
from ostraka.common.rpc.watcher import Target, Watcher
from ostraka.common.telemetry.tracing import is_traced
from ostraka.common.tls_minimum import check_tls_minimum

CONNECT_MS = 10_000
"""Time limit of an attempt to connect: several round trips, and more if packets are lost."""
RECONNECT_MS = (200, 2000)
"""The first and the longest pause between two failed attempts."""
SESSIONS = 1024
"""Number of servers, by name, whose TLS sessions the holder of a certificate may resume."""
_Option = tuple[str, str | int | SSLSessionCache]
READ_BY_CALLER: _Option = (ChannelOptions.SingleThreadedUnaryStream, 1)
"""Replies to one message are read by the thread that asks for them.

gRPC's own thread for that starts with the call; an interrupt during its start leaves a call for which `close`
waits for ever.
"""


def open_channel(
    credentials: Credentials | None,
    address: str,
    expected: Identity,
    *,
    insecure: bool = False,
    clock: Clock | None = None,
) -> CheckedChannel:
    """Open a channel to `expected` at `address`; nothing is sent before the first call.

    Args:
        credentials: the caller's own; may be None if insecure, in which case no identity is claimed.
        address: host:port.
        expected: the server's identity, checked against its certificate.
        insecure: without TLS, only to loopback.
        clock: determines whether the credentials are valid now; None: the system's clock.

    Raises:
        OstrakaError: server.insecure_refused, or identity.* for own certificates that nobody would accept.
    """
    if insecure:
        return _insecure(credentials, address, expected)
    if credentials is None:
        raise OstrakaError(
            ErrorCode.SERVER_INSECURE_REFUSED,
            "A caller needs certificates; make them with `ostraka provision`.",
        )
    target = Target(address, expected, credentials)
    tls, options = _tls_options(credentials, target, clock)
    channel = grpc.secure_channel(address, tls, [*options, READ_BY_CALLER])
    return _watch(channel, target, ())


def open_async_channel(
    credentials: Credentials, address: str, expected: Identity, *, clock: Clock | None = None
) -> CheckedAsyncChannel:
    """As `open_channel`, for asynchronous calls; `call_error` needs the target of a failed one.

    Raises:
        OstrakaError: identity.* for own certificates that nobody would accept.
    """
    target = Target(address, expected, credentials)
    channel = grpc.aio.secure_channel(address, *_tls_options(credentials, target, clock))
    return CheckedAsyncChannel(channel, target)


def _tls_options(
    credentials: Credentials, target: Target, clock: Clock | None
) -> tuple[grpc.ChannelCredentials, list[_Option]]:
    """Return the credentials and options of a channel with TLS.

    Raises:
        OstrakaError: identity.* for own certificates that are not valid now, config.invalid for a minimum
            version of TLS that is not available.
    """
    check_tls_minimum()
    credentials.check_valid(clock or SystemClock())
    tls = grpc.ssl_channel_credentials(credentials.ca_pem, credentials.tls_key_pem, credentials.tls_cert_pem)
    name = ("grpc.ssl_target_name_override", target.expected.server_name)
    sessions = ("grpc.ssl_session_cache", _sessions(credentials.ca_pem, credentials.tls_cert_pem))
    return tls, [*_options(target.address), name, sessions]


@cache
def _sessions(ca_pem: bytes, tls_cert_pem: bytes) -> SSLSessionCache:
    """Return the TLS sessions of a certificate, with which a further connection skips all verification.

    Sessions of another certificate would give its identity to their holder. They are kept as long as the
    process lives, because gRPC keeps no reference.
    """
    made: SSLSessionCache = ssl_session_cache_lru(SESSIONS)  # type: ignore[no-untyped-call, unused-ignore]
    return made


def _insecure(credentials: Credentials | None, address: str, expected: Identity) -> CheckedChannel:
    if not is_loopback(address):
        raise OstrakaError(
            ErrorCode.SERVER_INSECURE_REFUSED,
            f"{address} is not called without TLS; call 127.0.0.1, or leave out --insecure.",
        )
    claim = () if credentials is None else ((CLAIM, credentials.identity.uri),)
    channel = grpc.insecure_channel(address, options=[*_options(address), READ_BY_CALLER])
    return _watch(channel, Target(address, expected, None), claim)


def _options(address: str) -> list[_Option]:
    first, longest = RECONNECT_MS
    return [
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_http_proxy", int(not is_loopback(address))),
        ("grpc.initial_reconnect_backoff_ms", first),
        # Despite its name, gRPC uses this as the deadline of one whole attempt.
        ("grpc.min_reconnect_backoff_ms", CONNECT_MS),
        ("grpc.max_reconnect_backoff_ms", longest),
        *keepalive.calling(),
    ]


def _watch(channel: grpc.Channel, target: Target, metadata: tuple[tuple[str, str], ...]) -> CheckedChannel:
    spans = [Traced()] if is_traced() else []
    return CheckedChannel(grpc.intercept_channel(channel, Watcher(target, metadata), *spans), target)
