"""Serves the console: on loopback with a one-time token, or anywhere with TLS and certificates."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import structlog
import uvicorn

from ostraka.common.clock import Clock, SystemClock
from ostraka.common.config import is_loopback, load_site
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Role
from ostraka.common.rpc.serving import stop_on_signal, write_ready
from ostraka.guardian.admin.confidential import read_key
from ostraka.guardian.dashboard.access import CertificateDoor, Tokens
from ostraka.guardian.dashboard.app import make_app
from ostraka.guardian.dashboard.console import Console
from ostraka.guardian.dashboard.transport import address_of, bind, config, origins

Tell = Callable[[str], object]
"""Says a URL to whoever started the console, and to nobody else."""


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
        OstrakaError: as `running`.
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
        tls: serve whoever shows an administrator's certificate; else who was told a token, on loopback.
        allow_changes: offer what changes something.
        tell: is given each URL that opens the console.
        clock: tells now.
        ledger_key: file of the ledger's key, to show what votes cost; without one nothing of that is shown.

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
