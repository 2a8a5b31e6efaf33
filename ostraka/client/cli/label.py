"""`ostraka query label`."""

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostraka.client.dependencies.cli import File as Dependencies
from ostraka.client.dependencies.cli import SettingsFile as LabelSettings
from ostraka.client.dependencies.cli import tell as left_out_labels
from ostraka.client.run.asking_options import (
    AskingOptions,
    ClusterOptions,
    PoolFile,
    Queries,
    SiteFolder,
    TaskFile,
)
from ostraka.common.console.cli import ExitStatus, write_json
from ostraka.common.console.options import SettingsFile, model_options
from ostraka.common.console.screen import Screen
from ostraka.common.console.texts import count_text
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.planning.options import Json, MechanismText

if TYPE_CHECKING:
    from ostraka.client.run.labelling import LabelResult
    from ostraka.client.run.planning import PlanResult


@model_options
def label(
    *,
    site: SiteFolder,
    pool: PoolFile,
    out: Annotated[Path, typer.Option("--out", help="Folder of the run; an interrupted run in it resumes.")],
    mechanism: MechanismText,
    student: Annotated[
        Path | None, typer.Option(help="For the mechanism interactive: student from `query retrain`.")
    ] = None,
    queries: Queries = None,
    planned: AskingOptions,
    clusters: ClusterOptions,
    dependencies: Dependencies = None,
    label_settings: LabelSettings = None,
    settings: SettingsFile = None,
    task: TaskFile = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before the first charge.")] = False,
    again: Annotated[
        bool,
        typer.Option("--again", help="Ask and pay again for records that another run already asked about."),
    ] = False,
    json: Json = None,
) -> None:
    """Label a pool with the parties' models; write labels.csv and session.json into --out.

    A new run first shows its worst-case cost; on a terminal it then asks whether to go on.
    """
    from ostraka.client.dependencies import several_runs
    from ostraka.client.dependencies.several_runs import PartedResult
    from ostraka.client.querier import Querier
    from ostraka.client.run import labelling
    from ostraka.client.run.options import PlanOptions
    from ostraka.common.mechanism.arguments import read_mechanism

    options = PlanOptions(
        mechanism=read_mechanism(mechanism), queries=queries, **dict(planned), **dict(clusters)
    )
    try:
        labels = Querier(site, task=task).label(
            pool,
            options,
            out,
            student=student,
            dependencies=dependencies,
            label_settings=label_settings,
            again=again,
            before=partial(_confirm_cost, yes=yes),
        )
    except KeyboardInterrupt:
        typer.echo(
            f"Interrupted. The labels so far are in {out}; run the same command again to continue.", err=True
        )
        raise typer.Exit(ExitStatus.INTERRUPTED) from None
    result = labels.result
    for line in _lines(result):
        typer.echo(line, err=True)
    told = several_runs if isinstance(result, PartedResult) else labelling
    figures = told.as_json(result)
    write_json(figures, json)
    if result.stopped is not None:
        if not result.answered:
            raise OstrakaError(ErrorCode(result.stopped.code), result.stopped.message)
        raise typer.Exit(ExitStatus.STOPPED)


def _confirm_cost(planned: "PlanResult", *, yes: bool) -> None:
    """Show what a new run costs, and ask on a terminal whether to continue; abort if not."""
    from ostraka.client.cli.plan import show_plan
    from ostraka.client.run.planning import as_json

    show_plan(as_json(planned), Screen(stderr=True))
    if not yes and is_terminal():
        typer.confirm("Ask the parties, and have them charged?", abort=True, err=True)


def is_terminal() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty()


def _lines(result: "LabelResult") -> Iterator[str]:
    from ostraka.client.dependencies.several_runs import PartedResult
    from ostraka.client.report import tables

    yield (
        f"{result.answered} of {count_text(result.queries, 'query', 'queries')} answered, "
        f"{result.abstained} abstained, {result.unasked} not asked. Labels: {result.run / 'labels.csv'}"
    )
    if result.repeated:
        yield tables.repeats(result.repeated)
    if result.by_student:
        yield f"The student itself labelled {result.by_student} of the abstained queries."
    if isinstance(result, PartedResult) and (result.implied or result.partly):
        yield left_out_labels(result)
    if result.lost:
        yield tables.describe_lost(result.lost)
    if result.unguaranteed:
        yield tables.no_guarantee_text(result.unguaranteed)
    for site, stop in result.left_out.items():
        yield f"Left out {site} [{stop.code}]: {stop.message}"
    if result.stopped is not None and result.answered:
        yield f"Stopped [{result.stopped.code}]: {result.stopped.message}"
