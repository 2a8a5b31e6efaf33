"""`ostraka guardian policy`: what the guardian holds every session to."""

from pathlib import Path
from typing import Annotated

import typer

from ostraka.common.cli import write_json
from ostraka.guardian.admin.plain import plain
from ostraka.guardian.commands.files import read_text
from ostraka.guardian.commands.options import Json, Reason, Site
from ostraka.guardian.commands.output import say
from ostraka.protos.ostraka.v1 import admin_pb2

app = typer.Typer(help="The federation's policy.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(metavar="FILE", help="A policy as TOML; see docs/operator.md.")]


@app.command()
def show(site: Site, json: Json = None) -> None:
    """Show the policy in force."""
    from ostraka.guardian.admin.client import admin_call

    reply = admin_call(site, lambda stub: stub.ShowPolicy(admin_pb2.ShowPolicyRequest()))
    write_json(plain(reply), json)
    say(f"# {_source(reply)}\n{reply.toml}", json)


@app.command()
def check(site: Site, file: File, json: Json = None) -> None:
    """Say what a policy would change, and change nothing."""
    _apply(site, admin_pb2.ApplyPolicyRequest(toml=read_text(file), check_only=True), json)


@app.command()
def apply(site: Site, file: File, reason: Reason, json: Json = None) -> None:
    """Put a policy into force, from the next session and batch on."""
    _apply(site, admin_pb2.ApplyPolicyRequest(toml=read_text(file), reason=reason), json)


def _apply(site: Path, request: admin_pb2.ApplyPolicyRequest, json: str | None) -> None:
    from ostraka.guardian.admin.client import admin_call

    reply = admin_call(site, lambda stub: stub.ApplyPolicy(request))
    write_json(plain(reply), json)
    for line in reply.changes or ["Nothing changes."]:
        say(line, json)
    say(f"In force: {_source(reply)}.", json)


def _source(reply: admin_pb2.PolicyReply) -> str:
    return f"policy {reply.version}" if reply.version else "the policy of the guardian's site.toml"
