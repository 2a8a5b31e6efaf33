"""`ostraka guardian console`: parties, budgets, sessions, consent and the audit log in a browser."""

from pathlib import Path
from typing import Annotated

import typer

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.commands.options_and_output import Site, say


def console(
    site: Site,
    listen: Annotated[
        str, typer.Option(help="Address to serve at, host:port; without --tls a loopback address.")
    ] = "127.0.0.1:8700",
    allow_changes: Annotated[
        bool, typer.Option("--allow-changes", help="Allow changes from the console; each asks for a reason.")
    ] = False,
    tls: Annotated[
        bool, typer.Option("--tls", help="Require TLS and an administrator's client certificate.")
    ] = False,
    ledger_key: Annotated[
        Path | None,
        typer.Option(
            help="File with the ledger's key. Shows data-dependent costs, which must never be published."
        ),
    ] = None,
    ready_file: Annotated[
        Path | None, typer.Option(help="File to write once the server accepts requests.")
    ] = None,
) -> None:
    """Serve the guardian's web console until stopped."""
    try:
        from ostraka.guardian.dashboard.console_server import serve
    except ModuleNotFoundError as error:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"The console needs {error.name}; install it with `pip install 'ostraka[console]'`.",
        ) from error

    serve(
        site,
        listen,
        tls=tls,
        allow_changes=allow_changes,
        tell=lambda url: say(f"Open {url}", None),
        ready_file=ready_file,
        ledger_key=ledger_key,
    )
