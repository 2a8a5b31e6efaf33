"""`ostraka party`: train teachers, check a site against its task, serve votes."""

from pathlib import Path
from typing import Annotated

import typer

from ostraka.common.console.cli import write_json
from ostraka.common.console.commands import CommandGroup
from ostraka.services.commands.train import Json, Site

app = CommandGroup("Run an answering party: train teachers, and answer queries with shares of their votes.")
_COMMANDS = "ostraka.services.commands"
for name, target, summary in (
    (
        "train",
        f"{_COMMANDS}.train:train",
        "Train this party's teachers on slices of its records. Run it again to resume after an interruption.",
    ),
    (
        "sign-raise",
        f"{_COMMANDS}.admin:sign_raise",
        "Sign an agreement to raise a group's budget. The raise breaks the lifetime guarantee.",
    ),
    (
        "sign-consent",
        f"{_COMMANDS}.admin:sign_consent",
        "Sign an agreement that a withdrawn group takes part again.",
    ),
    ("check", f"{_COMMANDS}.check:check", "Check this site's records and teachers against the task."),
):
    app.add_lazy(name, target, summary)


@app.command("audit-head")
def audit_head(
    site: Site,
    out: Annotated[Path, typer.Option(help="File for `ostraka guardian audit verify --head`.")],
) -> None:
    """Write the latest head of the guardian's audit log that this party received."""
    from ostraka.services.party import Party

    typer.echo(f"Wrote audit head {Party(site).audit_head(out)} to {out}.")


@app.command("status")
def status_command(site: Site, json: Json = None) -> None:
    """Show this party's certificates, teachers, answers and spending, and its status at the guardian."""
    from ostraka.common.console.screen import Screen
    from ostraka.services.serving import status

    found = status.party_status(site)
    status.show(found, Screen(stderr=json == "-"))
    write_json(status.as_json(found), json)


@app.command()
def serve(
    site: Site,
    ready_file: Annotated[
        Path | None, typer.Option(help="File to write once the server accepts requests.")
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Serve without TLS, on loopback only.")
    ] = False,
) -> None:
    """Answer queries until stopped."""
    from ostraka.services.serving.server import serve as serve_party

    serve_party(site, ready_file=ready_file, insecure=insecure)
