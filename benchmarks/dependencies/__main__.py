"""Measures Table 4 of Dziedzic et al. 2023, and dissimilar parties: `python -m benchmarks.dependencies`."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from benchmarks.dependencies.asking import EPSILON
from benchmarks.dependencies.cells import QUICK, SETTINGS, Cell, Row, cell
from benchmarks.dependencies.domains import HEADS as DOMAIN_HEADS
from benchmarks.dependencies.domains import Domain, domains
from benchmarks.dpsgd.tables import markdown, table
from ostraka.common.console.cli import run, write_json
from ostraka.common.telemetry import progress

app = typer.Typer(add_completion=False)
SEEDS = (0, 1, 2)
HEADS = (
    "dataset",
    "way",
    "sigma",
    "answered",
    "worst case",
    "labels asked",
    "epsilon of these",
    "ACC",
    "BAC",
    "AUC",
    "mAP",
    "ACC of pool",
    "BAC of pool",
    "mAP of pool",
)
TITLE = f"Queries that epsilon {EPSILON:g} pays for, and their labels; means and deviations over seeds"
DOMAINS = "Parties that know different labels"


@app.command()
def main(
    cache: Annotated[Path, typer.Option(help="Folder of what was measured.")] = Path("runs/dependencies"),
    only: Annotated[str | None, typer.Option(help="One dataset alone.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Digits with labels, one seed: seconds.")] = False,
    json: Annotated[str | None, typer.Option(help="File for everything measured; - is stdout.")] = None,
    text: Annotated[Path | None, typer.Option(help="File for the tables as Markdown.")] = None,
) -> None:
    """Measures what is not in the cache and prints it."""
    console = Console(width=200)
    chosen = [QUICK] if quick else [one for one in SETTINGS if only in (None, one.shared.name)]
    found: list[Cell] = []
    crossed: list[Domain] = []
    seeds = SEEDS[:1] if quick else SEEDS
    with progress() as display:
        for setting in chosen:
            if not setting.shared.there:
                console.print(f"{setting.shared.name}: skipped, ../shared/data lies not beside the checkout")
                continue
            bar = display.add_task(setting.shared.name, total=len(seeds))
            for seed in seeds:
                found.append(cell(setting, seed, cache))
                display.advance(bar)
            if setting.shared.name != "mediamill":
                crossed += domains(setting, seeds, cache)
    tables = ((TITLE, HEADS, list(_rows(found))), (DOMAINS, DOMAIN_HEADS, [one.cells() for one in crossed]))
    for title, heads, rows in tables:
        console.print(table(title, heads, iter(rows)))
    if text is not None:
        text.write_text(
            "\n".join(f"{title}\n\n{markdown(heads, iter(rows))}" for title, heads, rows in tables)
        )
    write_json({"cells": [asdict(one) for one in found], "domains": [asdict(one) for one in crossed]}, json)


def _rows(cells: Sequence[Cell]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name in dict.fromkeys(one.dataset for one in cells):
        several = [one for one in cells if one.dataset == name]
        for place, way in enumerate(row.way for row in several[0].rows):
            same = [one.rows[place] for one in several]
            numbers = [_numbers(row) for row in same]
            columns = np.array(numbers).T
            rows.append((name, way, *(f"{column.mean():.1f} ± {column.std():.1f}" for column in columns)))
    return rows


def _numbers(row: Row) -> list[float]:
    counted = [row.sigma, row.answered, row.worst, row.questions, row.epsilon]
    shares = [*asdict(row.found).values(), row.pool.acc, row.pool.bac, row.pool.map]
    return counted + [100 * share for share in shares]


if __name__ == "__main__":
    run(app)
