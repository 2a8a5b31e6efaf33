"""`ostraka query retrain`."""

from pathlib import Path
from typing import Annotated

import typer

from ostraka.client.run.asking_options import SiteFolder, TaskFile
from ostraka.client.students.options import OneRunOptions, Seed, StudentOptions
from ostraka.common.console.cli import write_json
from ostraka.common.console.options import SettingsFile, model_options
from ostraka.common.console.screen import Screen
from ostraka.common.planning import options as given


@model_options
def retrain(
    *,
    site: SiteFolder,
    labelled: Annotated[
        Path | None, typer.Option("--labelled", help="This site's own labelled records, if any.")
    ] = None,
    run: Annotated[Path | None, typer.Option("--run", help="Folder of the run that labelled --pool.")] = None,
    pool: Annotated[Path | None, typer.Option("--pool", help="The pool that --run labelled.")] = None,
    test: Annotated[Path | None, typer.Option("--test", help="Labelled records to test on.")] = None,
    student: StudentOptions,
    one_run: OneRunOptions,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Model file to write. Default: student.skops or student.safetensors in --run."
        ),
    ] = None,
    seed: Seed = 0,
    settings: SettingsFile = None,
    task: TaskFile = None,
    json: given.Json = None,
) -> None:
    """Train a student on own labels, and a second one on own and released labels; save the second.

    Without --run and --pool, train only the first and save it to --out, as the first student of
    interactive.
    """
    from ostraka.client.querier import Querier
    from ostraka.client.report import tables
    from ostraka.client.students import student_result

    choice = student.choice(
        second=one_run.second_student,
        clusters=one_run.clusters,
        clusterer=one_run.clusterer,
        epsilon=one_run.student_epsilon,
        delta=one_run.student_delta,
    )
    result = Querier(site, task=task).retrain(
        labelled, run, pool, test=test, choice=choice, out=out, seed=seed
    )
    figures = student_result.as_json(result)
    Screen(stderr=True).print(tables.student(figures))
    typer.echo(f"Saved {result.path}.", err=True)
    write_json(figures, json)
