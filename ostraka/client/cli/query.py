"""`ostraka query`: check, label, fit, retrain, probe, report."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ostraka.client.run.asking_options import SiteFolder, TaskFile
from ostraka.common.console.cli import write_json
from ostraka.common.console.commands import CommandGroup
from ostraka.common.console.screen import Screen
from ostraka.common.planning.options import Json

app = CommandGroup("Run a querying party: label a pool, train a student on it, and report.")


@app.command("check")
def check_command(
    site: SiteFolder,
    data: Annotated[Path, typer.Option("--data", help="Pool or labelled records to check.")],
    task: TaskFile = None,
    json: Json = None,
) -> None:
    """Check a data file against the task; name the column, class or range that does not fit."""
    from ostraka.client.querier import Querier

    result = Querier(site, task=task).check(data)
    from ostraka.client.report import tables

    fit = "1 record fits" if result.records == 1 else f"{result.records} records fit"
    told = [f"{data}: {fit} task {result.task}; {result.labelled} are labelled."]
    told += result.reading
    if result.repeated and result.labelled < result.records:
        told.append(tables.repeats(result.repeated))
    typer.echo("\n".join(told), err=True)
    write_json(asdict(result), json)


for name, target, summary in (
    (
        "label",
        "cli.label:label",
        "Label a pool with the parties' models; write labels.csv and session.json into --out.",
    ),
    (
        "plan",
        "cli.plan:plan",
        "Show the worst-case cost of labelling for every party; no session is opened and nothing is charged.",
    ),
    (
        "calibrate",
        "students.label_dp.cli:calibrate",
        "Compute the noise that noise_cluster needs for (epsilon, delta)-label-DP.",
    ),
    (
        "dependencies",
        "dependencies.cli:dependencies",
        "Learn from this site's own records which labels imply others, for `query label --dependencies`.",
    ),
    (
        "retrain",
        "cli.retrain:retrain",
        "Train a student on own labels, and a second one on own and released labels; save the second.",
    ),
    (
        "fit",
        "cli.fit:fit",
        "Learn a model of all parties' records from noisy sums; write model.skops and fit.json into --out.",
    ),
    (
        "describe",
        "cli.describe:describe",
        "Count all parties' records by the values of columns, with noise: histograms, means, shares.",
    ),
    ("learn", "rounds.cli:learn", "Label in active-learning rounds; write report.html into --out."),
    (
        "probe",
        "probing.cli:probe",
        "Find parties that vote badly: ask small groups of parties about own labelled records.",
    ),
):
    app.add_lazy(name, f"ostraka.client.{target}", summary)


@app.command("report")
def report_command(
    run: Annotated[Path, typer.Option("--run", help="Folder of the run.")],
    delta: Annotated[
        float | None, typer.Option(help="Delta of the epsilons shown. Default: the delta of each budget.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write the report as one HTML page here.")
    ] = None,
    json: Json = None,
) -> None:
    """Report queries, answers and worst-case cost of a run or of learning rounds."""
    from ostraka.client.report import run_report, tables
    from ostraka.client.report.page import write_page

    figures = run_report.report(run, delta=delta)
    tables.show(figures, Screen(stderr=json == "-"))
    if html is not None:
        write_page(figures, html)
    write_json(figures, json)


@app.command("status")
def status_command(
    site: SiteFolder,
    run: Annotated[
        Path | None, typer.Option("--run", help="Folder of a run whose progress is shown.")
    ] = None,
    json: Json = None,
) -> None:
    """Show this site's certificates and sessions, the servers that it reaches, and a run's progress."""
    from ostraka.client.run import site_status

    found = site_status.query_status(site, run)
    site_status.show(found, Screen(stderr=json == "-"))
    write_json(site_status.as_json(found), json)
