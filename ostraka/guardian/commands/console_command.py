"""`ostraka guardian console`: parties, budgets, sessions, consent and the audit log in a browser."""

from pathlib import Path
from typing import Annotated

import typer

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.commands.options_and_output import Site, say


def console(
    site: Site,
    listen: Annotated[str, typer.Option(help="Address to serve at; without --tls on loopback.")] = (
        "127.0.0.1:8700"
    ),
    allow_changes: Annotated[
        bool, typer.Option("--allow-changes", help="Offer changes; each asks for a reason.")
    ] = False,
    tls: Annotated[
        bool, typer.Option("--tls", help="Require TLS and an administrator's client certificate.")
    ] = False,
    ledger_key: Annotated[
        Path | None,
        typer.Option(help="The ledger's key: show what votes cost, which is never to be published."),
    ] = None,
    ready_file: Annotated[Path | None, typer.Option(help="File to write once requests are taken.")] = None,
) -> None:
    """Serve the guardian's console to browsers until stopped."""
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
