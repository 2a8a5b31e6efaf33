"""The command line `ostraka`; every group is imported only when it is called or completed."""

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from ostraka.common.console.cli import run
from ostraka.common.telemetry import configure_logging


class _Placeholder(TyperCommand):
    """Stands for a group in the list of commands."""

    target = ""
    """Module and attribute of the group, as `module:attribute`."""

    def load(self, ctx: Any) -> Any:
        """Return the group's command; a usage error where code of ours is not here that it needs."""
        module, _, attribute = self.target.partition(":")
        try:
            found = getattr(import_module(module), attribute)
        except ModuleNotFoundError as exc:
            if ctx.resilient_parsing:
                return self
            if not (exc.name or "").startswith("ostraka."):
                raise
            ctx.fail(
                f"`ostraka {self.name}` needs {exc.name}, which is not here; run it where its role does."
            )
        command = get_command(_as_app(found))
        command.name = self.name
        return command


class LazyGroups(TyperGroup):
    """A group whose commands are imported when they are resolved, which their completion does too."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name, the imported command and the rest of `args`."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, imported(command, ctx), rest


def imported(command: Any, ctx: Any) -> Any:
    """Return the command that `command` stands for, itself where it stands for none; raises as `load`."""
    return command.load(ctx) if isinstance(command, _Placeholder) else command


def add_lazy_group(app: typer.Typer, name: str, target: str, summary: str) -> None:
    """Add the Typer app or command function at `target` (`module:attribute`) to an app of `LazyGroups`."""
    placeholder = type("Placeholder", (_Placeholder,), {"target": target})
    app.command(name, help=summary, cls=placeholder)(_never_called)


def _never_called() -> None:
    """Stand for a group's own function, which `LazyGroups` imports."""


def _as_app(target: typer.Typer | Callable[..., Any]) -> typer.Typer:
    if isinstance(target, typer.Typer):
        return target
    single = typer.Typer(add_completion=False)
    single.command()(target)
    return single


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
    "mechanisms", "ostraka.deploy.mechanisms", "mechanisms", "List mechanisms, their parameters and costs."
)
_group(
    "simulate", "ostraka.deploy.simulation.cli", "simulate", "Simulate a whole federation on this machine."
)


def main() -> None:
    """Run the command line and leave the process."""
    configure_logging()
    run(app, "ostraka")


if __name__ == "__main__":
    main()
