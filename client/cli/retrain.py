"""`ostraka query retrain`."""

from pathlib import Path
from typing import Annotated

import typer

from ostraka.client.cli.progress import TrainingBars
from ostraka.client.cli.student_options import RetrainedStudentOptions, Seed
from ostraka.client.report import tables
from ostraka.client.students import retraining
from ostraka.common.cli import write_json
from ostraka.common.cli_options import model_options
from ostraka.common.planning import options as given
from ostraka.common.screen import Screen
from ostraka.common.telemetry import progress


@model_options
def retrain(
    *,
    site: Annotated[Path, typer.Option("--site", help="Folder of this querying site.")],
    labelled: Annotated[
        Path | None, typer.Option("--labelled", help="This site's own labelled records, if any.")
    ] = None,
    run: Annotated[Path | None, typer.Option("--run", help="Folder of the run that labelled --pool.")] = None,
    pool: Annotated[Path | None, typer.Option("--pool", help="The records that --run labelled.")] = None,
    test: Annotated[Path | None, typer.Option("--test", help="Labelled records to measure on.")] = None,
    student: RetrainedStudentOptions,
    out: Annotated[
        Path | None, typer.Option("--out", help="Model file; student.skops or .safetensors in --run.")
    ] = None,
    seed: Seed = 0,
    task: Annotated[
        Path | None, typer.Option("--task", help="Task file; task.toml in the site folder.")
    ] = None,
    json: given.Json = None,
) -> None:
    """Train a student on own labels, and one on released labels too; saves the second.

    Without --run and --pool only the first is trained, and saved to --out: what interactive begins with.
    """
    choice = student.choice()
    with progress() as display:
        result = retraining.retrain(
            site,
            labelled,
            run,
            pool,
            test=test,
            choice=choice,
            out=out,
            task_file=task,
            seed=seed,
            progress=TrainingBars(display).trained,
        )
    figures = retraining.as_json(result)
    Screen(stderr=True).print(tables.student(figures))
    typer.echo(f"Saved {result.path}.", err=True)
    write_json(figures, json)
