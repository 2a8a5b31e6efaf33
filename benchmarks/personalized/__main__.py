"""Measures the tables of Mühl and Boenisch 2022, Personalized PATE: `python -m benchmarks.personalized`."""

from collections.abc import Iterator
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.personalized import data
from benchmarks.personalized.budgets import NOTIONS, PAPER
from benchmarks.personalized.cells import Cell, cells
from benchmarks.personalized.experiments import Bench, Row
from benchmarks.personalized.plot import plot
from benchmarks.personalized.quality import Quality, quality
from benchmarks.personalized.tables import WIDTH, tables
from benchmarks.personalized.teachers import Ensembles, ensemble_size
from ostraka.common.console.cli import run, write_json
from ostraka.common.telemetry import progress

PROCESSES = 5
"""Number of voting processes of each ensemble, as in Mühl and Boenisch 2022."""

app = typer.Typer(add_completion=False)


class Dataset(StrEnum):
    """The data sets."""

    MNIST = "mnist"
    ADULT = "adult"


@app.command()
def main(
    cache: Annotated[Path, typer.Option(help="Folder of the teachers' votes.")] = Path("runs/personalized"),
    only: Annotated[Dataset | None, typer.Option(help="One dataset alone.")] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Of teachers with copied records only those whose votes are there."),
    ] = False,
    json: Annotated[str | None, typer.Option(help="File for everything measured; - is stdout.")] = None,
    image: Annotated[Path | None, typer.Option(help="File for a plot.")] = None,
) -> None:
    """Trains the teachers that are not in the cache, runs the votes and prints them beside the paper's."""
    rows: list[Row] = []
    qualities: dict[str, Quality] = {}
    datasets = [dataset.value for dataset in Dataset if only in (None, dataset)]
    console = Console(width=max(WIDTH, Console().width))
    for dataset in datasets:
        if not data.path(dataset).exists():
            console.print(f"{dataset}: skipped, ../shared/data lies not beside the checkout")
            continue
        rows.extend(_measure(dataset, Ensembles(cache), quick, qualities))
    for table in tables(rows, qualities):
        console.print(table)
    write_json({"rows": [asdict(row) for row in rows], "teachers": _plain(qualities)}, json)
    if image is not None:
        plot(rows, datasets, image)


def _measure(dataset: str, ensembles: Ensembles, quick: bool, qualities: dict[str, Quality]) -> Iterator[Row]:
    split = data.load(dataset)
    wanted = [
        cell for cell in cells(dataset) if not quick or cell.kind == "plain" or ensembles.has(cell, split)
    ]
    with progress() as display:
        training = display.add_task(f"{dataset}: teachers", total=_teachers(wanted, split))
        measuring = display.add_task(f"{dataset}: ensembles measured", total=len(wanted))
        plain = None
        for cell in wanted:
            votes = ensembles.votes(cell, split, lambda done: display.advance(training, done))
            qualities[cell.file_name] = quality(votes, split.public.y)
            if cell.kind == "plain":
                table = dataset if cell.epochs is None else f"{dataset}, {cell.epochs} epochs"
                notions = NOTIONS if cell.epochs is None else (PAPER,)
                bench = Bench(table, dataset, split, votes, PROCESSES, notions)
                plain = plain or bench
                yield from bench.plain_rows()
            elif plain is not None:
                yield from plain.measure_upsampling(cell, votes)
            display.advance(measuring)


def _teachers(wanted: list[Cell], split: data.Split) -> int:
    return sum(ensemble_size(cell, split) for cell in wanted)


def _plain(qualities: dict[str, Quality]) -> dict[str, object]:
    return {name: asdict(one) for name, one in qualities.items()}


if __name__ == "__main__":
    run(app)
