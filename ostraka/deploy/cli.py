"""The command line `ostraka`; every group is imported only when it is called or completed."""

from importlib.metadata import version
from typing import Annotated

import typer

from ostraka.common.console.cli import run
from ostraka.common.telemetry import configure_logging
from ostraka.deploy.lazy_groups import LazyGroups, add_lazy_group

app = typer.Typer(
    cls=LazyGroups,
    help="Label data with many sites' models, under each site's own privacy budget.",
    no_args_is_help=True,
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"ostraka {version('ostraka')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Label data with many sites' models, under each site's own privacy budget."""


def _group(name: str, module: str, attribute: str, summary: str) -> None:
    add_lazy_group(app, name, f"{module}:{attribute}", summary)


_group("guardian", "ostraka.guardian.cli", "app", "Run and administer the privacy guardian.")
_group("party", "ostraka.services.cli", "app", "Train teachers and answer with them.")
_group("lead", "ostraka.client.training.cli", "lead", "Lead joint training of several parties' teachers.")
_group("query", "ostraka.client.cli.query", "app", "Label a pool, retrain on it, and report.")
_group(
    "site", "ostraka.deploy.site.cli", "app", "Make this site's keys, check it, and install its certificates."
)
_group("task", "ostraka.deploy.task.cli", "app", "Make, check and explain the task that all sites agree on.")
_group("provision", "ostraka.deploy.provisioning.cli", "app", "Make kits of a federation; sign and revoke.")
_group(
    "simulate", "ostraka.deploy.simulation.cli", "simulate", "Simulate a whole federation on this machine."
)


def main() -> None:
    """Run the command line and leave the process."""
    configure_logging()
    run(app, "ostraka")


if __name__ == "__main__":
    main()
