"""`ostraka relay`: pass callers on to sites that only call out."""

from pathlib import Path
from typing import Annotated

import typer

from ostraka.common.console.commands import CommandGroup

app = CommandGroup("Run a relay, which forwards calls to sites that accept no connection from outside.")


@app.command()
def serve(
    site: Annotated[Path, typer.Option(help="Site folder made by `ostraka provision`.")],
    ready_file: Annotated[
        Path | None, typer.Option(help="File to write once the relay accepts connections.")
    ] = None,
) -> None:
    """Serve as a relay until stopped."""
    from ostraka.relay.server import serve as serve_relay

    serve_relay(site, ready_file=ready_file)


@app.callback()
def _group() -> None:
    """Keep `serve` a command of the group while it is the only one."""
