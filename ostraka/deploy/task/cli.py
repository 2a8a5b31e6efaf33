"""`ostraka task`: make, check and explain a task file."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from ostraka.common.console.commands import CommandGroup
from ostraka.common.errors import printable

app = CommandGroup("Make, check and explain task.toml, which all sites agree on.")
Records = Annotated[Path, typer.Argument(help="Labelled records: a .csv, .parquet, .xlsx or .npz file.")]
TaskFile = Annotated[Path, typer.Argument(help="The task file.")]
Json = Annotated[str | None, typer.Option("--json", help="Write the result as JSON; - is stdout.")]


@app.command()
def init(
    records: Records,
    label: Annotated[
        list[str],
        typer.Option(
            help="Label column. Repeat the option for a multi-label task, whose labels are 0 and 1."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Task file to write.")] = Path("task.toml"),
    name: Annotated[
        str | None, typer.Option(help="Name of the task. Default: the name of the file of records.")
    ] = None,
    from_public: Annotated[
        bool,
        typer.Option(
            "--from-public", help="Take ranges and everything else from these records, which must be public."
        ),
    ] = False,
    target: Annotated[
        Literal["number", "class"] | None,
        typer.Option(
            help="What the label column holds: a number to predict, or classes. Default: decided by its "
            "values."
        ),
    ] = None,
    json: Json = None,
) -> None:
    """Propose a task for a table of labelled records. Writes names, kinds, and the classes that at least ten
    records have. Leaves to you what one private record could decide, since the task would reveal it: ranges,
    rare classes, whole numbers, missing values."""
    from ostraka.common.console.cli import write_json
    from ostraka.deploy.task.task_file import draft_task

    draft = draft_task(records, tuple(label), name or records.stem, out, public=from_public, target=target)
    if json != "-":
        _tell(draft.sentences())
    write_json(draft.summary(), json)


@app.command()
def check(task: TaskFile, records: Records, json: Json = None) -> None:
    """Check that records fit a task."""
    from ostraka.common.console.cli import write_json
    from ostraka.deploy.task.task_file import check_records

    checked = check_records(task, records)
    if json != "-":
        _tell(checked.sentences())
    write_json(checked.summary(), json)


@app.command()
def show(task: TaskFile, json: Json = None) -> None:
    """Explain a task: its classes, its columns, and the features that models take."""
    from ostraka.common.console.cli import write_json
    from ostraka.common.task import load_task
    from ostraka.deploy.task.task_file import explain, summary

    loaded = load_task(task)
    if json != "-":
        _tell(explain(loaded))
    write_json(summary(loaded), json)


def _tell(text: str) -> None:
    """Print sentences, which may contain column names from strangers."""
    typer.echo("\n".join(map(printable, text.split("\n"))))
