"""Measures Table 1 and Figure 2 of Dodwadmath and Stich 2022: `python -m benchmarks.heterogeneity`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.heterogeneity import data
from benchmarks.heterogeneity.cells import as_json, cells
from benchmarks.heterogeneity.plot import plot
from benchmarks.heterogeneity.tables import WIDTH, tables
from benchmarks.heterogeneity.teachers import SIMILARITIES, Training
from ostraka.common.console.cli import run, write_json
from ostraka.common.telemetry import progress

app = typer.Typer(add_completion=False)


@app.command()
def main(
    cache: Annotated[Path, typer.Option(help="Folder of votes and measures.")] = Path("runs/heterogeneity"),
    only: Annotated[Training | None, typer.Option(help="One training alone.")] = None,
    json: Annotated[str | None, typer.Option(help="File for everything measured; - is stdout.")] = None,
    image: Annotated[Path | None, typer.Option(help="File for a plot.")] = None,
) -> None:
    """Measures what is not in the cache and prints it beside the table of Dodwadmath and Stich 2022."""
    console = Console(width=max(WIDTH, Console().width))
    if not data.PATH.exists():
        console.print("heterogeneity: skipped, ../shared/data lies not beside the checkout")
        return
    trainings = [training for training in Training if only in (None, training)]
    split = data.load()
    with progress() as display:
        ensembles = display.add_task("ensembles", total=len(trainings) * len(SIMILARITIES))
        found = list(cells(trainings, split, cache, lambda: display.advance(ensembles)))
    for table in tables(found):
        console.print(table)
    write_json({"cells": [as_json(cell) for cell in found]}, json)
    if image is not None:
        plot(found, split, image)


if __name__ == "__main__":
    run(app)
