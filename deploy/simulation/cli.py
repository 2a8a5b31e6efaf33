"""`ostraka simulate`."""

import secrets
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ostraka.common.cli import write_json
from ostraka.common.cli_options import OverridesOf, model_options
from ostraka.common.screen import Screen
from ostraka.common.telemetry import progress
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.settings_file import load_settings

RUNS = Path("runs")


@model_options
def simulate(
    *,
    config: Annotated[Path | None, typer.Option(help="TOML file with any of these options.")] = None,
    overrides: Annotated[dict[str, Any], OverridesOf(Settings)],
    out: Annotated[Path | None, typer.Option(help="Folder to write; default runs/<time>.")] = None,
    repeats: Annotated[
        int, typer.Option(min=1, max=1000, help="Simulate so often, with the seeds from --seed on.")
    ] = 1,
    json: Annotated[
        str | None, typer.Option("--json", help="Also write the report here; - is stdout.")
    ] = None,
) -> None:
    """Run a whole federation on this machine, every site a process of its own, and report on it."""
    settings = load_settings(config, overrides)
    folder = out or RUNS / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"

    from ostraka.deploy.simulation import run
    from ostraka.deploy.simulation.display import ProgressSteps, show
    from ostraka.deploy.simulation.repeats import repeat, table_of
    from ostraka.deploy.simulation.report import SimulationReport

    def simulated(settings: Settings, folder: Path) -> SimulationReport:
        with progress() as display:
            shown = ProgressSteps(display)
            return run.simulate(
                settings, folder, announce=shown.announce, on_progress=shown.labelled, on_step=shown.stepped
            )

    if repeats > 1:
        found = repeat(settings, folder, repeats, simulated)
        write_json(found.model_dump(mode="json"), json)
        if json != "-":
            Screen().print(table_of(found))
        return
    report = simulated(settings, folder)
    write_json(report.model_dump(mode="json"), json)
    if json != "-":
        show(report, folder / run.HTML_FILE)
