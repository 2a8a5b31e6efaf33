"""The command line `ostraka`; every command is imported only when it is called or completed."""

from typing import Annotated

import typer

from ostraka import __version__
from ostraka.common.console.cli import run
from ostraka.common.console.commands import CommandGroup

_SUMMARY = "Learn from the records of many sites, under each site's own privacy budget."
app = CommandGroup(_SUMMARY, completion=True)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"ostraka {__version__}")
        raise typer.Exit


@app.callback(help=_SUMMARY)
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Take the options of the whole command line."""


for name, target, summary in (
    ("guardian", "ostraka.guardian.cli:app", "Run and administer the privacy guardian."),
    (
        "party",
        "ostraka.services.cli:app",
        "Run an answering party: train teachers, and answer queries with shares of their votes.",
    ),
    ("lead", "ostraka.client.training.cli:lead", "Lead joint training of several parties' teachers."),
    (
        "query",
        "ostraka.deploy.querying:app",
        "Run a querying party: label a pool, train a student on it, and report.",
    ),
    (
        "relay",
        "ostraka.relay.cli:app",
        "Run a relay, which forwards calls to sites that accept no connection from outside.",
    ),
    (
        "site",
        "ostraka.deploy.site.cli:app",
        "Make a site's keys, install its certificates, and check the site.",
    ),
    ("task", "ostraka.deploy.task.cli:app", "Make, check and explain the task that all sites agree on."),
    (
        "advise",
        "ostraka.deploy.advice.cli:advise",
        "Estimate what learning together would gain, before anything is spent.",
    ),
    (
        "provision",
        "ostraka.deploy.provisioning.cli:app",
        "Make the sites' kits; sign and revoke certificates.",
    ),
    ("mechanisms", "ostraka.deploy.mechanisms:mechanisms", "List mechanisms, their parameters and costs."),
):
    app.add_lazy(name, target, summary)
app.add_lazy(
    "simulate",
    "ostraka.deploy.simulation.cli:simulate",
    "Simulate a whole federation on this machine.",
    extra="simulate",
)


def _log() -> None:
    from ostraka.common.telemetry import configure_logging

    configure_logging()


def main() -> None:
    """Run the command line and leave the process."""
    run(app, "ostraka", prepare=_log)


if __name__ == "__main__":
    main()
