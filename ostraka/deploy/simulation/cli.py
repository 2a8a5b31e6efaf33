"""`ostraka simulate`."""

import atexit
import gc
from pathlib import Path
from typing import Annotated, Any

import typer

from ostraka.common.console.cli import write_json
from ostraka.common.console.options import OverridesOf, model_options
from ostraka.common.console.screen import Screen
from ostraka.deploy.simulation.processes import exit_on_signals, forking
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.settings_file import load_settings
from ostraka.deploy.simulation.simulate import new_folder, require_every_role, run_shown


@model_options
def simulate(
    *,
    config: Annotated[Path | None, typer.Option(help="TOML file with any of these options as keys.")] = None,
    overrides: Annotated[dict[str, Any], OverridesOf(Settings)],
    out: Annotated[Path | None, typer.Option(help="Folder to write; default runs/<time>.")] = None,
    repeats: Annotated[
        int, typer.Option(min=1, max=1000, help="Number of simulations; their seeds count up from --seed.")
    ] = 1,
    json: Annotated[
        str | None, typer.Option("--json", help="Also write the report as JSON here; - is stdout.")
    ] = None,
) -> None:
    """Simulate a whole federation on this machine, one process for each site, and report on it."""
    # At exit Python searches all objects for garbage, which takes most of a second.
    atexit.register(gc.freeze)
    settings = load_settings(config, overrides)
    folder = out or new_folder()

    with exit_on_signals(), forking() as start:
        require_every_role()
        from ostraka.deploy.simulation.display import show
        from ostraka.deploy.simulation.repeats import figures_table, repeat

        if repeats > 1:
            found = repeat(
                settings, folder, repeats, lambda settings, folder: run_shown(settings, folder, start).values
            )
            write_json(found.model_dump(mode="json"), json)
            if json != "-":
                Screen().print(figures_table(found))
            return
        report = run_shown(settings, folder, start)
    write_json(report.values.model_dump(mode="json"), json)
    if json != "-":
        show(report.values, report.page)
