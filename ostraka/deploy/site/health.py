"""Health probe of this site's own server, for containers: it runs often, so it imports little."""

from pathlib import Path

from ostraka.common.config import SiteConfig, load_site, split_address
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity.credentials import CA_CERT, TLS_CERT, TLS_KEY
from ostraka.common.identity.identity import Identity, Role

TIMEOUT_S = 5.0
CHECK = "/grpc.health.v1.Health/Check"
# A HealthCheckRequest for the whole server, and a HealthCheckResponse with SERVING.
WHOLE_SERVER = b""
SERVING = b"\x08\x01"
LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104


def is_serving(folder: Path, *, timeout_s: float = TIMEOUT_S) -> bool:
    """Whether the server of a site folder answers at its own address with its own certificate, and serves.

    Raises:
        OstrakaError: config.invalid for a site without a server, or with a port that only the system knows.
    """
    import grpc

    site = load_site(folder)
    if site.role == "relay":
        return _listens(own_address(site), timeout_s)
    identity = Identity(site.federation, site.site, Role(site.role))
    credentials = folder / site.credentials
    try:
        pems = [(credentials / name).read_bytes() for name in (CA_CERT, TLS_KEY, TLS_CERT)]
    except OSError as error:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"Cannot read {error.filename}: {error.strerror}; install certificates with `ostraka site"
            " install`.",
        ) from error
    options = [("grpc.ssl_target_name_override", identity.server_name), ("grpc.enable_http_proxy", 0)]
    with grpc.secure_channel(own_address(site), grpc.ssl_channel_credentials(*pems), options) as channel:
        try:
            call = channel.unary_unary(CHECK, request_serializer=bytes, response_deserializer=bytes)
            answer = call(WHOLE_SERVER, timeout=timeout_s)
        except grpc.RpcError:
            return False
    return answer == SERVING


def _listens(address: str, timeout_s: float) -> bool:
    """Whether something accepts connections at an address: a relay, which has no health service."""
    import socket

    try:
        socket.create_connection(split_address(address), timeout_s).close()
    except OSError:
        return False
    return True


def own_address(site: SiteConfig) -> str:
    """Return the address of a site's own server on its own machine, host:port.

    Raises:
        OstrakaError: config.invalid.
    """
    if not site.listen:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"{site.site} is {site.role} and serves nothing; ask a guardian's or a party's folder.",
        )
    host, port = split_address(site.listen)
    if not port:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, "`listen` in site.toml leaves the port to the system; write a port."
        )
    known = LOOPBACK.get(host, host)
    return f"[{known}]:{port}" if ":" in known else f"{known}:{port}"
