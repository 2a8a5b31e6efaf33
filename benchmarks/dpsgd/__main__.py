"""Trains by DP-SGD on the data of the other tables: `python -m benchmarks.dpsgd`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.dpsgd.cells import SEEDS, Cell, cells
from benchmarks.dpsgd.data import PROBLEMS
from benchmarks.dpsgd.tables import HEADS, rows, table
from ostraka.common.console.cli import run, write_json
from ostraka.common.telemetry import progress

app = typer.Typer(add_completion=False)
WIDTH = 110  # characters of the widest table


@app.command()
def main(
    cache: Annotated[Path, typer.Option(help="Folder of what was measured.")] = Path("runs/dpsgd"),
    only: Annotated[str | None, typer.Option(help="One dataset alone.")] = None,
    json: Annotated[str | None, typer.Option(help="File for everything measured; - is stdout.")] = None,
) -> None:
    """Measures what is not in the cache and prints it."""
    console = Console(width=max(WIDTH, Console().width))
    found: list[Cell] = []
    with progress() as display:
        for problem in PROBLEMS:
            if only not in (None, problem.name):
                continue
            if not problem.there:
                console.print(f"{problem.name}: skipped, ../shared/data lies not beside the checkout")
                continue
            bar = display.add_task(problem.name, total=SEEDS * (1 + len(problem.epsilons)))
            found.extend(cells(problem, cache, lambda bar=bar: display.advance(bar)))  # type: ignore[misc]
    console.print(table("DP-SGD, in %, delta 1e-5", HEADS, rows(found)))
    write_json({"cells": [asdict(one) for one in found]}, json)


if __name__ == "__main__":
    run(app)
