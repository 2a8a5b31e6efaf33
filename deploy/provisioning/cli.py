"""`ostraka provision`."""

from pathlib import Path
from typing import Annotated

import typer

from common.cli import write_json
from deploy.provisioning.provision import provision as write_federation


def provision(
    federation: Annotated[str, typer.Option(help="Name of the federation.")],
    parties: Annotated[str, typer.Option(help="Site names of the answering parties: a,b,c.")],
    query: Annotated[str, typer.Option(help="Site name of the querying party.")],
    out: Annotated[Path, typer.Option(help="Folder to write; must not hold anything.")],
    guardian: Annotated[str, typer.Option(help="Site name of the guardian.")] = "guardian",
    host: Annotated[str, typer.Option(help="Host of every server.")] = "127.0.0.1",
    base_port: Annotated[int, typer.Option(help="The guardian's port; the parties follow.")] = 7000,
    json: Annotated[
        str | None, typer.Option("--json", help="Write the folders as JSON; - is stdout.")
    ] = None,
) -> None:
    """Write keys, certificates and configuration of a federation, one folder per site and role."""
    names = [name.strip() for name in parties.split(",")]
    made = write_federation(federation, names, query, out, guardian=guardian, host=host, base_port=base_port)
    servers = {"guardian": str(made.guardian), "admin": str(made.admin), "query": str(made.query)}
    if json is not None:
        folders = {site: str(folder) for site, folder in made.parties.items()}
        write_json({"ca": str(made.ca), **servers, "parties": folders}, json)
        return
    typer.echo(f"Wrote {out}. Give each site its own folder, and keep {made.ca} where no site can read it.")
