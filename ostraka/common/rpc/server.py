"""Servers with mTLS, role checks, health and reflection."""

import errno
import math
import socket
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from ostraka.common.clock import Clock
from ostraka.common.config import is_loopback, split_address
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.open_files import allow_callers
from ostraka.common.identity import Credentials, Role
from ostraka.common.rpc import keepalive
from ostraka.common.rpc.calls import CUT_EVERY_S, Calls
from ostraka.common.rpc.expiry import Reminder
from ostraka.common.rpc.handshakes import DEADLINE_S, Handshakes, counting
from ostraka.common.rpc.health import ABOUT_SERVICE, About, Health, Prompt
from ostraka.common.rpc.interceptor import Gate
from ostraka.common.rpc.limits import READ_BYTES, THREADS, CallLimits
from ostraka.common.rpc.metered import Metered
from ostraka.common.rpc.peers import peer_identity
from ostraka.common.tls_minimum import check_tls_minimum
from ostraka.protos.ostraka.v1 import site_pb2_grpc

if TYPE_CHECKING:
    from ostraka.common.telemetry.rpc import RpcMetrics

__all__ = ["BoundServer", "make_server", "peer_identity"]


@dataclass(frozen=True)
class BoundServer:
    """A server bound to its port; its creator starts and stops it.

    Attributes:
        server: the gRPC server.
        address: host:port where it listens, with the port that the system chose.
        health: the server's health service; it reports "serving" until changed.
        handshakes: the counter of callers without a handshake; whoever starts the server starts it, too.
    """

    server: grpc.Server
    address: str
    health: Health
    handshakes: Handshakes


def make_server(
    credentials: Credentials | None,
    listen: str,
    servicers: Sequence[Callable[[grpc.Server], None]],
    roles: Mapping[str, frozenset[Role]],
    clock: Clock,
    *,
    insecure: bool = False,
    cut_every_s: float = CUT_EVERY_S,
    metrics: "RpcMetrics | None" = None,
    limits: CallLimits = CallLimits(),  # noqa: B008
) -> BoundServer:
    """Bind a server to `listen`; it accepts calls once started.

    From then on this process may have more open files, so that strangers' connections leave room for others.

    Args:
        credentials: the server's own; may be None if insecure.
        listen: host:port; port 0 lets the system choose.
        servicers: each adds one servicer to the server.
        roles: the roles that may call each method, by full name /package.Service/Method; a method that is
            missing may be called by nobody. Health, reflection and Site are open to every role.
        clock: determines whether the credentials are valid now.
        insecure: serve without TLS, only on loopback; callers are then believed to be who they claim to be.
        cut_every_s: interval in seconds at which ongoing calls are checked against the revocation list.
        metrics: where calls are counted, if anywhere.
        limits: limits on the calls of one site.

    Raises:
        OstrakaError: server.port_in_use, server.insecure_refused, config.invalid, or identity.* for own
            certificates that nobody would accept.
    """
    _check_transport(credentials, listen, insecure)
    secured = None if insecure else credentials
    if secured is not None:
        secured.check_valid(clock)
    server = grpc.server(
        ThreadPoolExecutor(THREADS),
        interceptors=[
            Prompt(THREADS),
            Metered(metrics),
            _gate(credentials, secured, roles, clock, cut_every_s, limits),
        ],
        options=_options(limits),
    )
    for add in servicers:
        add(server)
    site_pb2_grpc.add_SiteServicer_to_server(About(secured, clock), server)
    status = _add_health_and_reflection(server, {ABOUT_SERVICE, *(name.split("/")[1] for name in roles)})
    allow_callers()
    address = _bind(server, listen, secured)
    return BoundServer(server, address, status, _handshakes(address, metrics))


def _handshakes(address: str, metrics: "RpcMetrics | None") -> Handshakes:
    port = split_address(address)[1]
    return Handshakes(lambda: counting(port), metrics.set_handshakes if metrics else lambda _: None)


def _options(limits: CallLimits) -> list[tuple[str, int]]:
    options = [
        ("grpc.so_reuseport", 0),
        ("grpc.server_handshake_timeout_ms", int(1000 * DEADLINE_S)),
        ("grpc.experimental.tcp_max_read_buffer_size", READ_BYTES),
        *keepalive.serving(),
    ]
    if limits.idle_s < math.inf:
        options.append(("grpc.max_connection_idle_ms", int(1000 * limits.idle_s)))
    return options


def _gate(
    credentials: Credentials | None,
    secured: Credentials | None,
    roles: Mapping[str, frozenset[Role]],
    clock: Clock,
    cut_every_s: float,
    limits: CallLimits,
) -> Gate:
    federation = credentials.identity.federation if credentials else None
    if secured is None:
        return Gate(roles, federation, limits)
    calls = Calls(secured.revocations, clock, cut_every_s=cut_every_s)
    return Gate(roles, federation, limits, calls, Reminder(secured, clock))


def _check_transport(credentials: Credentials | None, listen: str, insecure: bool) -> None:
    if insecure and not is_loopback(listen):
        raise OstrakaError(
            ErrorCode.SERVER_INSECURE_REFUSED,
            f"Without TLS nothing is served at {listen}; listen on 127.0.0.1, or leave out --insecure.",
        )
    if credentials is None and not insecure:
        raise OstrakaError(
            ErrorCode.SERVER_INSECURE_REFUSED,
            "A server needs certificates; make them with `ostraka provision`.",
        )


def _add_health_and_reflection(server: grpc.Server, services: set[str]) -> Health:
    status = Health(services)
    health_pb2_grpc.add_HealthServicer_to_server(status, server)
    names = (*sorted(services), health.SERVICE_NAME, reflection.SERVICE_NAME)
    reflection.enable_server_reflection(names, server)
    return status


def _bind(server: grpc.Server, listen: str, secured: Credentials | None) -> str:
    """Bind with the credentials, or without TLS if there are none; return the address."""
    try:
        if secured is None:
            port = server.add_insecure_port(listen)
        else:
            check_tls_minimum()
            pair = (secured.tls_key_pem, secured.tls_cert_pem)
            tls = grpc.ssl_server_credentials([pair], secured.ca_pem, require_client_auth=True)
            port = server.add_secure_port(listen, tls)
    except RuntimeError as error:
        raise _unbound(listen) from error
    return f"{listen.rpartition(':')[0]}:{port}"


def require_free(listen: str) -> None:
    """Raise `server.port_in_use` if a server listens at this address.

    `make_server` says so, too, but after everything that it serves was loaded.
    """
    host, port = split_address(listen)
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            # As gRPC does: connections of a server that ended a moment ago do not hold its port.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise _in_use(listen) from error


def _unbound(listen: str) -> OstrakaError:
    """Ask the system why gRPC, which does not report it, could not bind."""
    host, port = split_address(listen)
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((host, port))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            return OstrakaError(
                ErrorCode.CONFIG_INVALID,
                f"Cannot listen at {listen}: {error.strerror}; correct `listen` in site.toml.",
            )
    return _in_use(listen)


def _in_use(listen: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.SERVER_PORT_IN_USE,
        f"Something already listens at {listen}; stop it, or change `listen` in site.toml.",
    )
