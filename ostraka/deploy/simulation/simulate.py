"""A simulation from Python and from `ostraka simulate`: run with its progress shown, then reported."""

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.imports import without_collection
from ostraka.deploy.simulation.processes import Start, forking
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.settings_file import load_settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from ostraka.client.run.labels import Labels
    from ostraka.deploy.simulation.number_quality import NumberQuality
    from ostraka.deploy.simulation.quality import Quality
    from ostraka.deploy.simulation.report import SimulationReport

RUNS = Path("runs")


@dataclass(frozen=True, eq=False)
class Report:
    """The results of a simulation.

    Attributes:
        folder: folder with report.html, report.json, and a folder for each site.
        values: every figure, as in report.json.
    """

    folder: Path
    values: "SimulationReport" = field(repr=False)

    @property
    def page(self) -> Path:
        """The report as an HTML page, which opens without a network."""
        return self.folder / "report.html"

    @property
    def labels(self) -> "Labels":
        """The querying party's released labels; raises `data.missing` if several asked, or one in rounds."""
        from ostraka.client.run.labels import Labels
        from ostraka.deploy.simulation.federation import QUERY
        from ostraka.deploy.simulation.querying_party import RUN

        return Labels.read(self.folder / QUERY / RUN)

    @property
    def tables(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Rows for data frames: `units`, their `spending`, `quality`, `classes`, `labels`, `parties`."""
        found = self.values
        return {
            "units": [unit.model_dump(exclude={"history"}) for unit in found.units],
            "spending": [
                {"unit": unit.name} | point.model_dump() for unit in found.units for point in unit.history
            ],
            "quality": list(_quality_rows(found.quality)),
            "classes": [count.model_dump() for count in found.classes],
            "labels": [count.model_dump() for count in found.labels],
            "parties": [holding.model_dump() for holding in found.holdings],
        }

    def frame(self, table: str) -> "DataFrame":
        """Return one of `tables` as a pandas data frame; raise KeyError for another name.

        Raises `config.invalid` if pandas is not installed.
        """
        from ostraka.common.datasets.frames import data_frame

        return data_frame(self.tables[table])

    def figure(self, plot: str) -> "Figure":
        """Return a plot of the report: of `accuracy`, `epsilons`, `labels`, `holdings`, `compared`, ...

        The names are those of the plots in `ostraka.deploy.simulation.plots`. Raises KeyError for another
        name.
        """
        from ostraka.common.page.drawing import style
        from ostraka.deploy.simulation.html import PLOTS

        with style():
            return PLOTS[plot](self.values)

    def __str__(self) -> str:
        """Return the sentences at the top of the page."""
        from ostraka.deploy.simulation.report import headline

        return headline(self.values)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: those sentences, and every unit's spending."""
        from ostraka.common.console.texts import epsilon_text
        from ostraka.common.datasets.frames import html_table

        epsilons = ("epsilon_worst_case", "epsilon_data_dependent", "epsilon_budget")
        rows = [
            [unit["party"], unit["group"], *(epsilon_text(unit[name]) for name in epsilons)]
            for unit in self.tables["units"]
        ]
        return html_table(str(self), ("party", "group", *epsilons), rows)


def _quality_rows(quality: "Quality | NumberQuality") -> Iterator[Mapping[str, Any]]:
    """Yield the figures of every compared model."""
    from ostraka.common.learning.accuracy import METRICS
    from ostraka.deploy.simulation.number_quality import NumberQuality

    if isinstance(quality, NumberQuality):
        for name, one in quality.rows:
            yield {
                "model": name,
                "r2": one.r2.estimate,
                "mean_absolute_error": one.mean_absolute_error.estimate,
            }
        return
    for name, metrics in (*quality.rows, *quality.others):
        yield {"student": name} | {metric: getattr(metrics, metric) for metric in METRICS}


def simulate(
    settings: Settings | Path | str | None = None, *, folder: Path | str | None = None, **options: Any
) -> Report:
    """Simulate a whole federation on this machine, one process for each site, and report on it.

    Args:
        settings: what to simulate, or a TOML file of settings; by default the demo.
        folder: folder to write, empty or new; by default runs/<time> here.
        options: settings that override those of the file, by name: parties=10, epsilon=5.

    Raises:
        OstrakaError: `config.invalid` for an invalid setting or a folder in use, `budget.too_small` before
            any training if budgets allow no query, `process.failed` naming the site and its log, and whatever
            splitting, labelling and retraining raise.
        TypeError: for options in addition to whole settings.
    """
    if isinstance(settings, Settings):
        if options:
            raise TypeError("give options as settings.model_copy(update=...), or a file and options")
        chosen = settings
    else:
        chosen = load_settings(None if settings is None else Path(settings), options, named=str)
    with forking() as start:
        return run_shown(chosen, Path(folder) if folder is not None else new_folder(), start)


def new_folder() -> Path:
    """Return a new folder for a simulation that begins now."""
    return RUNS / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"


def require_every_role() -> None:
    """Raise `config.invalid` if packages of any role are missing: a simulation plays every role."""
    try:
        with without_collection():
            import_module("ostraka.deploy.simulation.run")
            import_module("ostraka.deploy.simulation.display")
    except ModuleNotFoundError as error:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"A simulation plays every role, and {error.name} is not installed; "
            "run pip install 'ostraka[simulate]'.",
        ) from error


def run_shown(settings: Settings, folder: Path, start: Start) -> Report:
    """Simulate into a folder with processes from `start`, with progress on the screen.

    A fork server that was started before imports at the same time as this process.
    """
    require_every_role()
    from ostraka.common.telemetry import progress
    from ostraka.deploy.simulation import run
    from ostraka.deploy.simulation.display import ProgressSteps, StepLines

    with progress() as display:
        shown = StepLines() if display.disable else ProgressSteps(display)
        values = run.simulate(
            settings,
            folder,
            announce=shown.announce,
            on_progress=shown.labelled,
            on_step=shown.stepped,
            on_training=shown.trained,
            start=start,
        )
    return Report(folder, values)
