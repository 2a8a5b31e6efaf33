"""Models of noisy sums on real data: `python -m benchmarks.sums`."""

from dataclasses import asdict, dataclass
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.sums.data import DATA_SETS, DataSet, Split
from benchmarks.sums.measures import measure
from benchmarks.sums.models import AUTO, Central, fit_plain, fit_sums
from ostraka.common.console.cli import run, write_json

app = typer.Typer(add_completion=False)
WIDTH = 110  # characters of the widest table


@dataclass(frozen=True)
class Cell:
    """One model's figure: for `data` by `method`, at `epsilon` if it has a guarantee.

    `learner` is the learner's name for noisy sums.
    """

    data: str
    figure: str
    method: str
    epsilon: float | None
    seed: int
    value: float
    learner: str = ""


@app.command()
def main(
    data: Annotated[str, typer.Option(help="Names with commas; all: every set.")] = "all",
    epsilon: Annotated[str, typer.Option(help="Budgets with commas.")] = "0.5,2,8",
    seeds: Annotated[int, typer.Option(min=1, help="Draws of records and noise.")] = 5,
    learn: Annotated[str, typer.Option(help="Learners with commas; auto chooses.")] = AUTO,
    central: Annotated[bool, typer.Option("--central", help="DP-SGD by Opacus as well.")] = False,
    json: Annotated[str | None, typer.Option(help="File for everything measured; - is stdout.")] = None,
) -> None:
    """Measures and prints a table a data set: means over seeds, with deviations."""
    console = Console(width=max(WIDTH, Console().width))
    epsilons = [float(one) for one in epsilon.split(",")]
    found: list[Cell] = []
    for name in DATA_SETS if data == "all" else data.split(","):
        try:
            cells = _measure(name, DATA_SETS[name], epsilons, seeds, learn.split(","), central=central)
        except FileNotFoundError as missing:
            console.print(f"{name}: skipped: not here ({missing})")
            continue
        found.extend(cells)
        console.print(_table(name, cells, epsilons))
    write_json({"cells": [asdict(cell) for cell in found]}, json)


def _measure(
    name: str, data: DataSet, epsilons: list[float], seeds: int, learners: list[str], *, central: bool
) -> list[Cell]:
    cells: list[Cell] = []

    def add(
        method: str, epsilon: float | None, seed: int, model: object, split: Split, learner: str = ""
    ) -> None:
        value = measure(model, split, data.figure)
        cells.append(Cell(name, data.figure, method, epsilon, seed, value, learner))

    for seed in range(seeds):
        split = data.draw(seed)
        number = split.problem.kind == "number"
        own = split.problem.own
        if own is not None and (own.y.ndim > 1 or len(np.unique(own.y)) > 1):
            add("own records", None, seed, fit_plain(own.X, own.y, number=number), split)
        if seed == 0:
            add("pooled", None, seed, fit_plain(split.X, split.y, number=number), split)
        for epsilon in epsilons:
            for learner in learners:
                model, chosen = fit_sums(split, learner, epsilon, seed)
                add(learner, epsilon, seed, model, split, chosen)
            if central and not number:
                add("central DP-SGD", epsilon, seed, Central(split, epsilon, seed), split)
    return cells


def _table(name: str, cells: list[Cell], epsilons: list[float]) -> Table:
    table = Table(title=f"{name}: {cells[0].figure} in %")
    table.add_column("method")
    for epsilon in epsilons:
        table.add_column(f"epsilon {epsilon:g}", justify="right")
    table.add_column("no privacy", justify="right")
    for method in dict.fromkeys(cell.method for cell in cells):
        values = [
            _mean([c for c in cells if c.method == method and c.epsilon == one]) for one in (*epsilons, None)
        ]
        learners = sorted({cell.learner for cell in cells if cell.method == method and cell.learner})
        table.add_row(f"{method} ({', '.join(learners)})" if method == AUTO else method, *values)
    return table


def _mean(cells: list[Cell]) -> str:
    if not cells:
        return ""
    values = 100 * np.array([cell.value for cell in cells])
    deviation = f" ± {values.std(ddof=1):.1f}" if len(values) > 1 else ""
    return f"{values.mean():.1f}{deviation}"


if __name__ == "__main__":
    run(app)
