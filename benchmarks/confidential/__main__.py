"""Measures encrypted queries and blind tallies: `python -m benchmarks.confidential`."""

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.blobs import write_blobs
from benchmarks.confidential.prototype import run_prototype
from benchmarks.confidential.sessions import ENCODINGS, TALLIES, run_sessions
from benchmarks.confidential.tables import sessions_table, steps_table, work_table
from benchmarks.confidential.work import work
from ostraka.common.console.cli import run, write_json
from ostraka.common.plan.choices import ENCODING, TALLY
from ostraka.deploy.simulation.settings import Settings

WIDTH = 160  # characters of the widest table
RECORDS = 20  # records per teacher: few, because cost is measured, not accuracy
RECORDS_TO_TEST = 1000  # for testing a student
"""Of blobs: a teacher's records, and how many more than queries the querying party has."""

app = typer.Typer(add_completion=False)


@app.command()
def main(
    parties: Annotated[int, typer.Option(help="Answering parties.")] = 10,
    teachers: Annotated[int, typer.Option(help="Teachers of each party.")] = 1,
    queries: Annotated[int, typer.Option(help="Size of the pool.")] = 1000,
    batch: Annotated[int, typer.Option(help="Queries released together.")] = 1000,
    data: Annotated[str, typer.Option(help="digits, blobs, or an .npz, .csv or .parquet file.")] = "digits",
    head: Annotated[str, typer.Option(help="linear, square, square-mlp or square-cnn.")] = "linear",
    encoding: Annotated[ENCODING | None, typer.Option(help="Sessions with this encoding alone.")] = None,
    tally: Annotated[TALLY | None, typer.Option(help="Sessions with this tally alone.")] = None,
    json: Annotated[str | None, typer.Option(help="File for everything measured; - is stdout.")] = None,
) -> None:
    """Run sessions in all four combinations, each role's work alone and the prototype, and print tables.

    Data "blobs" are made: records for as many teachers and queries as there are.
    """
    console = Console(width=max(WIDTH, Console().width))
    prototype = run_prototype(parties, queries)
    if prototype is None:
        console.print("prototype: skipped, ../shared/prototypes lies not beside the checkout")
    with tempfile.TemporaryDirectory() as folder:
        if data == "blobs":
            train = RECORDS * parties * teachers
            data = str(write_blobs(Path(folder, "blobs.npz"), train, queries + RECORDS_TO_TEST))
        settings = Settings.model_validate(
            {
                "data": data,
                "parties": parties,
                "teachers": teachers,
                "labelled": 20,
                "queries": queries,
                "batch_size": batch,
                "epsilon": 1e6,
                "head": head,
            }
        )
        encodings = ENCODINGS if encoding is None else (encoding,)
        tallies = TALLIES if tally is None else (tally,)
        sessions = list(run_sessions(settings, Path(folder), encodings, tallies))
    console.print(sessions_table(settings, sessions, prototype))
    if prototype is not None:
        console.print(
            "(*) circuits and transfers alone, one teacher a party; encrypted queries and logits are on top. "
            f"Its rounding changed {prototype.flipped} votes."
        )
    console.print(steps_table(settings, sessions))
    works = list(work())
    console.print(work_table(works))
    measured = {
        "settings": settings.model_dump(),
        "prototype": None if prototype is None else asdict(prototype),
        "sessions": [asdict(session) for session in sessions],
        "work": [asdict(one) for one in works],
    }
    write_json(measured, json)


if __name__ == "__main__":
    run(app)
