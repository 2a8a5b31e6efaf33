"""`ostraka query`: check, label, retrain, probe, report."""

import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ostraka.client.cli import plan, retrain
from ostraka.client.dependencies import several_runs
from ostraka.client.dependencies.cli import File as Dependencies
from ostraka.client.dependencies.cli import SettingsFile as LabelSettings
from ostraka.client.dependencies.cli import dependencies as learn_dependencies
from ostraka.client.dependencies.cli import tell as left_out_labels
from ostraka.client.dependencies.several_runs import PartedResult
from ostraka.client.probing import cli as probing_cli
from ostraka.client.querier import Querier
from ostraka.client.report import run_report, tables
from ostraka.client.report.page.render import write_page
from ostraka.client.rounds import cli as rounds_cli
from ostraka.client.run import labelling, planning
from ostraka.client.run.options import AskingOptions, ClusterOptions, PlanOptions, Queries
from ostraka.client.students.label_dp.cli import calibrate
from ostraka.common.console.cli import ExitStatus, write_json
from ostraka.common.console.options import SettingsFile, model_options
from ostraka.common.console.screen import Screen
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism.arguments import read_mechanism
from ostraka.common.planning.options import MechanismText

app = typer.Typer(help="Label a pool, retrain on it, and report.", no_args_is_help=True, add_completion=False)

SiteFolder = Annotated[Path, typer.Option("--site", help="Folder of this querying site.")]
TaskFile = Annotated[Path | None, typer.Option("--task", help="Task file; default task.toml of the site.")]
PoolFile = Annotated[Path, typer.Option("--pool", help="Records to label: .csv, .parquet, .xlsx or .npz.")]
JsonFile = Annotated[str | None, typer.Option("--json", help="Write the result to this file; - is stdout.")]


@app.command("check")
def check_command(
    site: SiteFolder,
    data: Annotated[Path, typer.Option("--data", help="Pool or labelled records to compare.")],
    task: TaskFile = None,
    json: JsonFile = None,
) -> None:
    """Check a data file against the task; name the column, class or range that does not fit."""
    result = Querier(site, task=task).check(data)
    _tell(f"{data}: {result.records} records fit task {result.task}; {result.labelled} are labelled.")
    for sentence in result.reading:
        _tell(sentence)
    if result.repeated and not result.labelled:
        _tell(tables.repeats(result.repeated))
    write_json(asdict(result), json)


@app.command("label")
@model_options
def label_command(
    *,
    site: SiteFolder,
    pool: PoolFile,
    out: Annotated[Path, typer.Option("--out", help="Folder of the run; an interrupted run resumes.")],
    mechanism: MechanismText,
    student: Annotated[Path | None, typer.Option(help="interactive: student from `query retrain`.")] = None,
    queries: Queries = None,
    planned: AskingOptions,
    clusters: ClusterOptions,
    dependencies: Dependencies = None,
    label_settings: LabelSettings = None,
    settings: SettingsFile = None,
    task: TaskFile = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before the first charge.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Pay again for records that another run asked about.")
    ] = False,
    json: JsonFile = None,
) -> None:
    """Label a pool with the parties' models; writes labels.csv and session.json into --out.

    A new run begins with what it costs at worst; on a terminal it then asks whether to go on.
    """
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
        _tell(f"Interrupted. The labels so far are in {out}; run the same command again to go on.")
        raise typer.Exit(ExitStatus.INTERRUPTED) from None
    result = labels.result
    _tell_labelled(result)
    told = several_runs if isinstance(result, PartedResult) else labelling
    figures = told.as_json(result)
    write_json(figures, json)
    if result.stopped is not None:
        if not result.answered:
            raise OstrakaError(ErrorCode(result.stopped.code), result.stopped.message)
        raise typer.Exit(ExitStatus.STOPPED)


app.command("plan")(plan.plan)
app.command("calibrate")(calibrate)
app.command("dependencies")(learn_dependencies)


app.command("retrain")(retrain.retrain)
app.command("learn")(rounds_cli.learn)
app.command("probe")(probing_cli.probe)


@app.command("report")
def report_command(
    run: Annotated[Path, typer.Option("--run", help="Folder of the run.")],
    delta: Annotated[float, typer.Option(help="Delta of the epsilons shown.")] = run_report.DELTA,
    html: Annotated[Path | None, typer.Option("--html", help="Write the report as one page here.")] = None,
    json: JsonFile = None,
) -> None:
    """Report queries, answers and worst-case cost of a run or of learning rounds."""
    figures = run_report.report(run, delta=delta)
    tables.show(figures, Screen(stderr=json == "-"))
    if html is not None:
        write_page(figures, html)
    write_json(figures, json)


@app.command("status")
def status_command(
    site: SiteFolder,
    run: Annotated[Path | None, typer.Option("--run", help="Folder of a run, to show its progress.")] = None,
    json: JsonFile = None,
) -> None:
    """Show certificates, reachable servers, this site's sessions, and a run's progress."""
    from ostraka.client.run import site_status

    found = site_status.query_status(site, run)
    site_status.show(found, Screen(stderr=json == "-"))
    write_json(site_status.as_json(found), json)


def _confirm_cost(planned: planning.PlanResult, *, yes: bool) -> None:
    """Say what a new run costs, and ask on a terminal whether to go on; end the command where not."""
    plan.show_plan(planning.as_json(planned), Screen(stderr=True))
    if not yes and is_terminal():
        typer.confirm("Ask the parties, and have them charged?", abort=True, err=True)


def is_terminal() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty()


def _tell_labelled(result: labelling.LabelResult) -> None:
    _tell(
        f"{result.answered} of {result.queries} queries answered, {result.abstained} abstained, "
        f"{result.unasked} not asked. Labels: {result.run / 'labels.csv'}"
    )
    if result.repeated:
        _tell(tables.repeats(result.repeated))
    if result.by_student:
        _tell(f"The student labelled {result.by_student} of the abstained itself.")
    if isinstance(result, PartedResult) and (result.implied or result.partly):
        _tell(left_out_labels(result))
    if result.lost:
        _tell(f"{result.lost} queries were charged, lost their answers, and were asked again.")
    if result.unguaranteed:
        _tell(tables.unguaranteed(result.unguaranteed))
    for site, stop in result.left_out.items():
        _tell(f"Left out {site} [{stop.code}]: {stop.message}")
    if result.stopped is not None and result.answered:
        _tell(f"Stopped [{result.stopped.code}]: {result.stopped.message}")


def _tell(line: Any) -> None:
    typer.echo(line, err=True)
