"""`ostraka query learn`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import Field

from ostraka.client.dependencies.cli import File as Dependencies
from ostraka.client.dependencies.cli import SettingsFile as LabelSettings
from ostraka.client.run.asking_options import AskingOptions, PoolFile, SiteFolder, TaskFile
from ostraka.client.students.options import Seed, StudentOptions
from ostraka.common.console.cli import ExitStatus, write_json
from ostraka.common.console.options import SettingsFile, model_options
from ostraka.common.console.screen import Screen
from ostraka.common.console.texts import GRAMMAR
from ostraka.common.planning import options as given
from ostraka.common.validation import FrozenModel

if TYPE_CHECKING:
    from ostraka.client.rounds.learning import RoundsResult

PAGE_FILE = "report.html"


class RoundsOptions(FrozenModel):
    """Number and size of rounds, and this site's own records."""

    queries: int = Field(ge=1, description="Largest number of queries in a round.")
    rounds: int = Field(default=2, ge=1, description="Number of rounds.")
    labelled: Path | None = Field(default=None, description="This site's own labelled records, if any.")
    test: Path | None = Field(default=None, description="Labelled records to test on.")


@model_options
def learn(
    *,
    site: SiteFolder,
    pool: PoolFile,
    out: Annotated[
        Path, typer.Option("--out", help="Folder of the rounds; an interrupted round in it resumes.")
    ],
    options: RoundsOptions,
    mechanism: given.MechanismText,
    later: Annotated[
        str | None,
        typer.Option(
            "--later-mechanism",
            metavar=GRAMMAR,
            help="Mechanism of later rounds. Default: interactive after confident or gnmax if the tally "
            "is not blind, else the same mechanism. A parameter that you leave out is that of the "
            "first round; confidence is then 0.9.",
            autocompletion=given.complete_mechanism,
        ),
    ] = None,
    student: StudentOptions,
    seed: Seed = 0,
    planned: AskingOptions,
    dependencies: Dependencies = None,
    label_settings: LabelSettings = None,
    settings: SettingsFile = None,
    again: Annotated[
        bool,
        typer.Option("--again", help="Ask and pay again for records that another run already asked about."),
    ] = False,
    delta: Annotated[
        float | None, typer.Option(help="Delta of the epsilons shown. Default: the delta of each budget.")
    ] = None,
    task: TaskFile = None,
    json: given.Json = None,
) -> None:
    """Label in active-learning rounds; write report.html into --out.

    Each round trains a student; the next round asks about the records of which that student is least
    certain. If the budgets do not pay for all rounds, the rounds share them.
    """
    from ostraka.client.console import show_progress
    from ostraka.client.report import run_report, tables
    from ostraka.client.report.page import write_page
    from ostraka.client.rounds.learning import learn_in_rounds
    from ostraka.client.rounds.rounds_options import Rounds, first_mechanism, later_mechanism
    from ostraka.client.run.asked_before import Question, remembering, rows_of_rounds
    from ostraka.client.run.labelling import LabellingRun
    from ostraka.client.run.options import PlanOptions
    from ostraka.client.run.rounds_state import is_rounds
    from ostraka.client.run.run_folder import require_no_site
    from ostraka.client.run.site import load_class_task
    from ostraka.client.session.meter import QueryMetrics
    from ostraka.common.telemetry.site import observing

    first = PlanOptions(mechanism=first_mechanism(mechanism), **dict(planned))
    rounds = Rounds(
        count=options.rounds,
        queries=options.queries,
        first=first,
        later=later_mechanism(first, later),
        student=student.choice(),
        seed=seed,
        dependencies=dependencies,
        label_settings=label_settings,
    )
    require_no_site(out)
    of = load_class_task("learning in rounds", site, task)
    records = of.pool(pool)
    question = Question.of(site, out, of, records, first.labels)
    remembered = remembering(
        question,
        lambda: rows_of_rounds(question, first.labels),
        begun=is_rounds(out),
        again=again,
        paid=run_report.cost_text,
    )
    try:
        with remembered, observing(site) as registry, show_progress() as shown:
            result = learn_in_rounds(
                site,
                records,
                rounds,
                out,
                labelled=options.labelled,
                test=options.test,
                task_file=task,
                on_labels=shown.labelled_in_round,
                on_training=shown.trained,
                run=LabellingRun(watch=QueryMetrics(registry)),
            )
    except KeyboardInterrupt:
        typer.echo(f"Interrupted. Run the same command again to continue in {out}.", err=True)
        raise typer.Exit(ExitStatus.INTERRUPTED) from None
    figures = run_report.report(out, delta=delta)
    tables.show(figures, Screen(stderr=True))
    write_page(figures, out / PAGE_FILE)
    _tell(result)
    write_json(figures, json)
    if result.stopped is not None:
        raise typer.Exit(ExitStatus.STOPPED)


def _tell(result: "RoundsResult") -> None:
    if result.exhausted:
        typer.echo("Every record of the pool was asked about.", err=True)
    typer.echo(f"{result.rounds} rounds are in {result.folder}, told in {PAGE_FILE}.", err=True)
