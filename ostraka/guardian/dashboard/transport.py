"""Sockets, TLS and HTTP under the console."""

import asyncio
import ipaddress
import socket
import ssl
from pathlib import Path
from typing import Any

import uvicorn
from cryptography import x509
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from ostraka.common.config import split_address
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials
from ostraka.common.identity.credentials import CA_CERT, TLS_CERT, TLS_KEY
from ostraka.common.rpc.serving import DRAIN_S

HEADERS_MAX = 16 << 10
"""Bytes that the headers of a request may have."""


def bind(listen: str) -> socket.socket:
    """Open a socket that holds `listen` (host:port); raises `server.port_in_use`."""
    host, port = split_address(listen)
    taken: socket.socket | None = None
    try:
        family, *_, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        taken = socket.socket(family, socket.SOCK_STREAM)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(where)
        taken.listen()
    except OSError as error:
        if taken is not None:
            taken.close()
        raise OstrakaError(
            ErrorCode.SERVER_PORT_IN_USE,
            f"Cannot listen on {listen}: {error.strerror}; stop what holds the port, or choose another with"
            " --listen.",
        ) from error
    return taken


def address_of(listen: str, taken: socket.socket) -> str:
    """host:port as `listen` named the host and the system chose the port."""
    return f"{listen.rpartition(':')[0]}:{taken.getsockname()[1]}"


def origins(address: str, certificate_pem: bytes | None) -> frozenset[str]:
    """Every origin that a browser may call the console at `address` by.

    Without a certificate these are names of loopback; with one the names in it, and the address itself unless
    that stands for all of the machine's.
    """
    host, _, port = address.rpartition(":")
    if certificate_pem is None:
        return frozenset(f"http://{name}:{port}" for name in (host, "localhost"))
    names = {*_names(certificate_pem), *(() if _is_wildcard(host) else (host,))}
    return frozenset(f"https://{name}{end}" for name in names for end in _ends(port))


def config(app: ASGIApp, credentials: Credentials | None) -> uvicorn.Config:
    """How `app` is served; with `credentials` under TLS that wants a certificate of the client's, too."""
    tls: dict[str, Any] = {}
    if credentials is not None:
        folder: Path = credentials.folder
        tls = {
            "ssl_certfile": folder / TLS_CERT,
            "ssl_keyfile": folder / TLS_KEY,
            "ssl_ca_certs": str(folder / CA_CERT),
            "ssl_cert_reqs": ssl.CERT_REQUIRED,
        }
    made = uvicorn.Config(
        app,
        http=_WithCertificate,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        h11_max_incomplete_event_size=HEADERS_MAX,
        timeout_graceful_shutdown=int(DRAIN_S),
        **tls,
    )
    made.load()
    return made


class _WithCertificate(H11Protocol):
    """HTTP whose requests carry the client's certificate, as ASGI's TLS extension names it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        connection = transport.get_extra_info("ssl_object")
        if connection is not None:
            der = connection.getpeercert(binary_form=True)
            self.app = _carrying(self.app, ssl.DER_cert_to_PEM_cert(der))


def _carrying(app: Any, certificate_pem: str) -> ASGIApp:
    async def carrying(scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("extensions", {})["tls"] = {"client_cert_chain": [certificate_pem]}
        await app(scope, receive, send)

    return carrying


def _names(certificate_pem: bytes) -> list[str]:
    certificate = x509.load_pem_x509_certificate(certificate_pem)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = names.get_values_for_type(x509.IPAddress)
    return [*names.get_values_for_type(x509.DNSName), *(_in_url(address) for address in addresses)]


def _in_url(address: object) -> str:
    return f"[{address}]" if isinstance(address, ipaddress.IPv6Address) else str(address)


def _is_wildcard(host: str) -> bool:
    return host in {"0.0.0.0", "[::]"}  # noqa: S104


def _ends(port: str) -> tuple[str, ...]:
    return (f":{port}", "") if port == "443" else (f":{port}",)
