"""Servers with mTLS, role checks, health and reflection."""

import errno
import socket
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from common.clock import Clock
from common.config import is_loopback, split_address
from common.errors import ErrorCode, OstrakaError
from common.identity import Credentials, Role
from common.rpc.interceptor import Gate
from common.rpc.peers import peer_identity

__all__ = ["BoundServer", "make_server", "peer_identity"]

THREADS = 32


@dataclass(frozen=True)
class BoundServer:
    """A server that holds its port; whoever made it starts and stops it.

    Attributes:
        server: the gRPC server.
        address: host:port where it listens, the port as the system chose it.
        health: what the server says of its health; serving until told otherwise.
    """

    server: grpc.Server
    address: str
    health: health.HealthServicer


def make_server(
    credentials: Credentials | None,
    listen: str,
    servicers: Sequence[Callable[[grpc.Server], None]],
    roles: Mapping[str, frozenset[Role]],
    clock: Clock,
    *,
    insecure: bool = False,
) -> BoundServer:
    """Bind a server to `listen`; it takes calls once started.

    Args:
        credentials: the server's own; may be None if insecure.
        listen: host:port; port 0 lets the system choose.
        servicers: each adds one servicer to the server.
        roles: who may call each method, by full name /package.Service/Method; a method that is missing
            may be called by nobody. Health and reflection are open to every role.
        clock: tells whether the credentials are valid now.
        insecure: serve without TLS, on loopback only; callers are then who they claim to be.

    Raises:
        OstrakaError: server.port_in_use, server.insecure_refused, config.invalid, or identity.* for own
            certificates that nobody would accept.
    """
    _check_transport(credentials, listen, insecure)
    federation = credentials.identity.federation if credentials else None
    server = grpc.server(
        ThreadPoolExecutor(THREADS),
        interceptors=[Gate(roles, federation)],
        options=[("grpc.so_reuseport", 0)],
    )
    for add in servicers:
        add(server)
    status = _add_health_and_reflection(server, {method.split("/")[1] for method in roles})
    if credentials is None or insecure:
        return BoundServer(server, _bind(server, listen, None), status)
    credentials.check_valid(clock)
    pair = (credentials.tls_key_pem, credentials.tls_cert_pem)
    tls = grpc.ssl_server_credentials([pair], credentials.ca_pem, require_client_auth=True)
    return BoundServer(server, _bind(server, listen, tls), status)


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


def _add_health_and_reflection(server: grpc.Server, services: set[str]) -> health.HealthServicer:
    status = health.HealthServicer()
    for name in ("", *services):
        status.set(name, health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(status, server)
    names = (*sorted(services), health.SERVICE_NAME, reflection.SERVICE_NAME)
    reflection.enable_server_reflection(names, server)
    return status


def _bind(server: grpc.Server, listen: str, tls: grpc.ServerCredentials | None) -> str:
    try:
        port = server.add_secure_port(listen, tls) if tls else server.add_insecure_port(listen)
    except RuntimeError as error:
        raise _unbound(listen) from error
    return f"{listen.rpartition(':')[0]}:{port}"


def _unbound(listen: str) -> OstrakaError:
    """Ask the system why gRPC, which does not say, could not bind."""
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
    return OstrakaError(
        ErrorCode.SERVER_PORT_IN_USE,
        f"Something already listens at {listen}; stop it, or change `listen` in site.toml.",
    )
