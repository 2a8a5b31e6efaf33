"""The command line `ostraka`; every group is imported only when it is called."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import typer

from ostraka.common.cli import run
from ostraka.common.telemetry import configure_logging

app = typer.Typer(
    help="Label data with everybody's models, under everybody's own privacy budget.",
    no_args_is_help=True,
    add_completion=False,
)

# Everything after the group's name is its own to parse, --help too.
_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}


def _group(name: str, module: str, attribute: str, summary: str) -> None:
    def forward(context: typer.Context) -> None:
        try:
            target = getattr(import_module(module), attribute)
        except ModuleNotFoundError as exc:
            context.fail(f"`ostraka {name}` needs {exc.name}, which is not here; run it where its role does.")
        _as_app(target)(context.args, prog_name=f"ostraka {name}")

    app.command(name, help=summary, context_settings=_PASS_ON, add_help_option=False)(forward)


def _as_app(target: typer.Typer | Callable[..., Any]) -> typer.Typer:
    if isinstance(target, typer.Typer):
        return target
    single = typer.Typer(add_completion=False)
    single.command()(target)
    return single


_group("guardian", "ostraka.guardian.cli", "app", "Run and administer the privacy guardian.")
_group("party", "ostraka.services.cli", "app", "Train teachers and answer with them.")
_group("lead", "ostraka.client.training.cli", "lead", "Lead teachers of several parties that learn together.")
_group("query", "ostraka.client.cli.query", "app", "Label a pool, retrain on it, and report.")
_group(
    "site", "ostraka.deploy.site.cli", "app", "Make this site's keys, check it, and install its certificates."
)
_group("task", "ostraka.deploy.task.cli", "app", "Make, check and explain the task that all sites agree on.")
_group("provision", "ostraka.deploy.provisioning.cli", "app", "Make kits of a federation; sign and revoke.")
_group("simulate", "ostraka.deploy.simulation.cli", "simulate", "Play a whole round on this machine.")


def main() -> None:
    """Run the command line and leave the process."""
    configure_logging()
    run(app)


if __name__ == "__main__":
    main()
