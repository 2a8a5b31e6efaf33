"""`ostraka query fit`."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostraka.client.fitting.fit_options import FitOptions
from ostraka.client.run.asking_options import SiteFolder, TaskFile
from ostraka.common.console.cli import ExitStatus, write_json
from ostraka.common.console.options import SettingsFile, model_options
from ostraka.common.console.screen import Screen
from ostraka.common.planning.options import Json

if TYPE_CHECKING:
    from ostraka.client.fitting.fit_state import FitState


@model_options
def fit(
    *,
    site: SiteFolder,
    out: Annotated[Path, typer.Option("--out", help="Folder of the run; an interrupted run in it resumes.")],
    pool: Annotated[
        Path | None, typer.Option("--pool", help="Unlabelled records like those of the parties, if any.")
    ] = None,
    labelled: Annotated[
        Path | None, typer.Option("--labelled", help="This site's own labelled records, if any.")
    ] = None,
    test: Annotated[Path | None, typer.Option("--test", help="Labelled records to test on.")] = None,
    asked: FitOptions,
    nothing_of_the_pool: Annotated[
        bool,
        typer.Option(
            "--tell-nothing-of-the-pool",
            help="Tell the parties no statistic of the pool; use the task's ranges in its place.",
        ),
    ] = False,
    label_pool: Annotated[
        bool,
        typer.Option(
            "--label-pool", help="Write labels.csv, the labels that the model predicts for the pool."
        ),
    ] = False,
    settings: SettingsFile = None,
    task: TaskFile = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before the first charge.")] = False,
    json: Json = None,
) -> None:
    """Learn a model of all parties' records from noisy sums; write model.skops and fit.json into --out.

    A new run first shows what it reveals to the parties and what it costs them in the worst case; on a
    terminal it then asks whether to go on.
    """
    from ostraka.client.fitting import tables
    from ostraka.client.querier import Querier

    options = asked.model_copy(update={"tell_pool": not nothing_of_the_pool})
    try:
        result = Querier(site, task=task).fit(
            pool,
            labelled,
            options,
            out,
            test=test,
            label_pool=label_pool,
            before=partial(_confirm, yes=yes),
        )
    except KeyboardInterrupt:
        typer.echo(
            f"Interrupted. The released sums are in {out}; run the same command again to continue.", err=True
        )
        raise typer.Exit(ExitStatus.INTERRUPTED) from None
    figures = result.as_json()
    tables.show_result(figures, Screen(stderr=True))
    typer.echo(f"Saved {result.path}.", err=True)
    if label_pool:
        typer.echo(f"Labels of the pool, by the model: {out / 'labels.csv'}", err=True)
    write_json(figures, json)
    if not result.state.is_done:
        raise typer.Exit(ExitStatus.STOPPED)


def _confirm(planned: "FitState", *, yes: bool) -> None:
    """Show what a new fit reveals and costs, and ask on a terminal whether to continue; abort if not."""
    from ostraka.client.cli.label import is_terminal
    from ostraka.client.fitting import tables
    from ostraka.client.fitting.fit_state import fit_figures

    tables.show_plan(fit_figures(Path(), planned), Screen(stderr=True))
    if not yes and is_terminal():
        typer.confirm("Ask the parties, and have them charged?", abort=True, err=True)
