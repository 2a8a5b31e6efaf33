"""`ostraka query learn`."""

from pathlib import Path
from typing import Annotated

import typer

from ostraka.client.cli import student_options as learning
from ostraka.client.cli.progress import RoundBars
from ostraka.client.report import run_report, tables
from ostraka.client.report.page.render import write_page
from ostraka.client.rounds.learning import RoundsResult, learn_in_rounds
from ostraka.client.rounds.rounds_options import Rounds
from ostraka.client.run.options import AdjacencyName, BatchSize, Charged, PlanOptions
from ostraka.client.students.trainers import Choice
from ostraka.common.cli import write_json
from ostraka.common.mechanism import Interactive, invalid_plan
from ostraka.common.mechanism.arguments import make_mechanism
from ostraka.common.planning import options as given
from ostraka.common.screen import Screen
from ostraka.common.telemetry import progress

INTERRUPTED = 130
SURE = 0.9
PAGE_FILE = "report.html"


def learn(
    site: Annotated[Path, typer.Option("--site", help="Folder of this querying site.")],
    pool: Annotated[Path, typer.Option("--pool", help="Records to label: .npz, .csv or .parquet.")],
    out: Annotated[Path, typer.Option("--out", help="Folder of the rounds; interrupted ones go on.")],
    queries: Annotated[int, typer.Option(min=1, help="Asked in each round.")],
    rounds: Annotated[int, typer.Option(min=1, help="Rounds in all.")] = 2,
    labelled: Annotated[
        Path | None, typer.Option("--labelled", help="This site's own labelled records, if any.")
    ] = None,
    test: Annotated[Path | None, typer.Option("--test", help="Labelled records to measure on.")] = None,
    mechanism: Annotated[str, typer.Option(help="Of the first round: confident or gnmax.")] = "confident",
    sigma: given.Sigma = None,
    sigma1: given.Sigma1 = None,
    sigma2: given.Sigma2 = None,
    threshold: given.Threshold = None,
    later_sigma1: Annotated[float | None, typer.Option(help="Of later rounds; as --sigma1.")] = None,
    later_sigma2: Annotated[float | None, typer.Option(help="Of later rounds; as --sigma2.")] = None,
    later_threshold: Annotated[float | None, typer.Option(help="Of later rounds; as --threshold.")] = None,
    confidence: Annotated[float, typer.Option(help="A student's own label needs more than this.")] = SURE,
    student: learning.Student = "supervised",
    model: learning.Model = None,
    steps: learning.Steps = None,
    device: learning.Device = learning.DeviceName.AUTO,
    smoothing: learning.Smoothing = False,
    log: learning.Log = None,
    checkpoint: learning.Checkpoint = None,
    seed: learning.Seed = 0,
    quorum: Annotated[int | None, typer.Option(help="Fewest parties released together; a majority.")] = None,
    batch_size: BatchSize = None,
    parties: Annotated[str | None, typer.Option(help="Who answers, as a,b,c; all in site.toml.")] = None,
    adjacency: Charged = AdjacencyName.RECORD,
    delta: Annotated[float, typer.Option(help="Delta that epsilons are given at.")] = run_report.DELTA,
    task: Annotated[
        Path | None, typer.Option("--task", help="Task file; task.toml in the site folder.")
    ] = None,
    json: given.Json = None,
) -> None:
    """Label, train, ask about what the student does not know, and again; writes report.html into --out."""
    first = make_mechanism(mechanism, sigma=sigma, sigma1=sigma1, sigma2=sigma2, threshold=threshold)
    later = _later(
        confidence,
        sigma1=sigma1 if later_sigma1 is None else later_sigma1,
        sigma2=(sigma2 or sigma) if later_sigma2 is None else later_sigma2,
        threshold=threshold if later_threshold is None else later_threshold,
    )
    from ostraka.client.session.metrics import QueryMetrics
    from ostraka.common.telemetry.site import observing

    names = None if parties is None else tuple(name.strip() for name in parties.split(","))
    options = PlanOptions(first, quorum, batch_size, parties=names, adjacency=adjacency.charged)
    asked = Rounds(rounds, queries, options, later)
    choice = Choice(
        student=student,
        model=None if model is None else model.value,
        steps=steps,
        device=device.chosen,
        smoothing=smoothing,
        log=log,
        checkpoint=checkpoint,
    )
    try:
        with observing(site) as registry, progress() as display:
            bars = RoundBars(display)
            result = learn_in_rounds(
                site,
                pool,
                asked,
                out,
                labelled=labelled,
                test=test,
                choice=choice,
                task_file=task,
                seed=seed,
                on_labels=bars.labelled,
                on_training=bars.trained,
                watch=QueryMetrics(registry),
            )
    except KeyboardInterrupt:
        typer.echo(f"Interrupted. Run the same command again to go on in {out}.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    figures = run_report.report(out, delta=delta)
    tables.show(figures, Screen(stderr=True))
    write_page(figures, out / PAGE_FILE)
    _tell(result)
    write_json(figures, json)


def _later(confidence: float, **noise: float | None) -> Interactive:
    """The mechanism of later rounds; raises `plan.invalid` naming what is missing."""
    for name, value in noise.items():
        if value is None:
            raise invalid_plan(
                f"later rounds ask by interactive, which takes {', '.join(noise)}; give --later-{name}"
            )
    return Interactive.model_validate({"confidence": confidence, **noise})


def _tell(result: RoundsResult) -> None:
    if result.exhausted:
        typer.echo("Every record of the pool was asked about.", err=True)
    typer.echo(f"{result.rounds} rounds are in {result.folder}, told in {PAGE_FILE}.", err=True)
