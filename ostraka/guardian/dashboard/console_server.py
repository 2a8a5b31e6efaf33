"""Serves the console: on loopback with a one-time token, or anywhere with TLS and certificates."""

import asyncio
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import structlog
import uvicorn
from cryptography import x509
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from ostraka.common.clock import Clock, SystemClock
from ostraka.common.config import is_loopback, load_site, split_address
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Role
from ostraka.common.identity.credentials import CA_CERT, TLS_CERT, TLS_KEY
from ostraka.common.rpc.serving import DRAIN_S, stop_on_signal, write_ready
from ostraka.guardian.admin.confidential import read_key
from ostraka.guardian.dashboard.access import CertificateDoor, Tokens
from ostraka.guardian.dashboard.app import make_app
from ostraka.guardian.dashboard.console import Console

Tell = Callable[[str], object]
"""Shows a URL to the person who started the console, and to nobody else."""


def serve(
    folder: Path,
    listen: str,
    *,
    tls: bool,
    allow_changes: bool,
    tell: Tell,
    ready_file: Path | None = None,
    ledger_key: Path | None = None,
) -> None:
    """Serve the console of the administrator's folder `folder` until SIGTERM or SIGINT.

    Raises:
        OstrakaError: as for `running`.
    """
    stop = stop_on_signal()
    shown = running(folder, listen, tls=tls, allow_changes=allow_changes, tell=tell, ledger_key=ledger_key)
    with shown as address:
        structlog.get_logger().info("console.serving", address=address, allow_changes=allow_changes)
        if ready_file is not None:
            write_ready(ready_file, address)
        stop.wait()


@contextmanager
def running(
    folder: Path,
    listen: str,
    *,
    tls: bool = False,
    allow_changes: bool = False,
    tell: Tell,
    clock: Clock | None = None,
    ledger_key: Path | None = None,
) -> Iterator[str]:
    """Run a console that serves within the block, and yield its address (host:port).

    Args:
        folder: an administrator's site folder.
        listen: host:port; port 0 lets the system choose.
        tls: admit visitors with an administrator's certificate; else visitors with a token, on loopback.
        allow_changes: offer operations that change something.
        tell: called with each URL that opens the console.
        clock: the source of the current time.
        ledger_key: file of the ledger's key, to show data-dependent costs; without it they are not shown.

    Raises:
        OstrakaError: `server.insecure_refused`, `server.port_in_use`, `config.invalid`, `identity.*`.
    """
    clock = clock or SystemClock()
    site = load_site(folder)
    credentials = Credentials.of(site)
    _check(credentials, clock, listen, tls)
    cipher = None if ledger_key is None else read_key(ledger_key)
    with closing(bind(listen)) as taken:
        address = address_of(listen, taken)
        console = Console(site, credentials, clock, allow_changes, cipher)
        if tls:
            known = origins(address, credentials.tls_cert_pem)
            app = make_app(console, CertificateDoor(credentials, clock), known)
            tell(f"https://{address}/")
        else:
            tokens = Tokens(clock, lambda token: tell(f"http://{address}/enter?token={token}"))
            app = make_app(console, tokens, origins(address, None))
            tokens.invite()
        server = uvicorn.Server(config(app, credentials if tls else None))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]}, name="console")
        thread.start()
        try:
            yield address
        finally:
            server.should_exit = True
            thread.join()


def _check(credentials: Credentials, clock: Clock, listen: str, tls: bool) -> None:
    if not tls and not is_loopback(listen):
        raise OstrakaError(
            ErrorCode.SERVER_INSECURE_REFUSED,
            f"Without TLS the console is not served at {listen}; listen on 127.0.0.1, or add --tls.",
        )
    if credentials.identity.role is not Role.ADMIN:
        raise OstrakaError(
            ErrorCode.IDENTITY_WRONG_ROLE,
            f"{credentials.folder} is the folder of {credentials.identity.uri}; name an administrator's.",
        )
    credentials.check_valid(clock)


MAX_HEADERS_BYTES = 16 << 10
"""Largest size of a request's headers in bytes."""


def bind(listen: str) -> socket.socket:
    """Open a socket bound to `listen` (host:port); raises `server.port_in_use`."""
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
    """host:port, with the host of `listen` and the port that the system chose."""
    return f"{listen.rpartition(':')[0]}:{taken.getsockname()[1]}"


def origins(address: str, certificate_pem: bytes | None) -> frozenset[str]:
    """Every origin under which a browser may call the console at `address`.

    Without a certificate these are the names of loopback. With one they are the names in it and the address
    itself, unless the address is a wildcard for all addresses of the machine.
    """
    host, _, port = address.rpartition(":")
    if certificate_pem is None:
        return frozenset(f"http://{name}:{port}" for name in (host, "localhost"))
    names = {*_names(certificate_pem), *(() if _is_wildcard(host) else (host,))}
    return frozenset(f"https://{name}{end}" for name in names for end in _ends(port))


def config(app: ASGIApp, credentials: Credentials | None) -> uvicorn.Config:
    """How `app` is served; with `credentials` under TLS that also requires a client certificate."""
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
        h11_max_incomplete_event_size=MAX_HEADERS_BYTES,
        timeout_graceful_shutdown=int(DRAIN_S),
        **tls,
    )
    made.load()
    return made


class _WithCertificate(H11Protocol):
    """HTTP whose requests carry the client's certificate, under the name of ASGI's TLS extension."""

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
