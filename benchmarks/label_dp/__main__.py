"""Measures Tables 2 to 6 of Tang et al. 2022 on digits, MNIST and Adult: `python -m benchmarks.label_dp`."""

from dataclasses import asdict, replace
from functools import cache as once
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.label_dp import data
from benchmarks.label_dp.cells import cells, load_or_measure
from benchmarks.label_dp.data import SIZES, Dataset
from benchmarks.label_dp.methods import Bench
from benchmarks.label_dp.plot import plot
from benchmarks.label_dp.tables import Measures, tables
from ostraka.common.console.cli import run, write_json
from ostraka.common.telemetry import progress

app = typer.Typer(add_completion=False)
QUICK = replace(SIZES[Dataset.DIGITS], train=300, test=100, embedding=0, teachers=5, steps=4, seeds=1)
"""A minute's check that everything runs."""


@app.command()
def main(
    cache: Annotated[Path, typer.Option(help="Folder of embeddings, votes and measures.")] = Path(
        "runs/label_dp"
    ),
    only: Annotated[Dataset | None, typer.Option(help="One dataset alone.")] = None,
    quick: Annotated[bool, typer.Option(help="Few digits and hardly any steps.")] = False,
    json: Annotated[str | None, typer.Option(help="File for everything measured; - is stdout.")] = None,
    image: Annotated[Path | None, typer.Option(help="File for a plot.")] = None,
) -> None:
    """Measures what is not in the cache and prints Markdown tables beside those of Tang et al. 2022."""
    sizes, cache = ({Dataset.DIGITS: QUICK}, cache / "quick") if quick else (SIZES, cache)
    if only not in (None, *sizes):
        raise typer.BadParameter(f"take one of {', '.join(sizes)}", param_hint="--only")
    datasets = [dataset for dataset in sizes if only in (None, dataset)]
    for dataset in [one for one in datasets if not data.available(one)]:
        Console(stderr=True).print(f"{dataset}: skipped, ../shared/data lies not beside the checkout")
        datasets.remove(dataset)

    @once
    def bench(dataset: Dataset, seed: int) -> Bench:
        split = data.load(dataset, sizes[dataset], seed)
        return Bench(split, sizes[dataset], seed, cache / f"{dataset}-{seed}")

    found: Measures = {}
    with progress() as display:
        for dataset in datasets:
            wanted = list(cells(dataset, sizes[dataset].seeds))
            for cell in display.track(wanted, description=str(dataset)):
                found[cell] = load_or_measure(cell, sizes[dataset], bench, cache)
    for table in tables(found, {dataset: sizes[dataset] for dataset in datasets}):
        print(table)
    write_json({"cells": [asdict(cell) | asdict(one) for cell, one in found.items()]}, json)
    if image is not None:
        plot(found, datasets, image)


if __name__ == "__main__":
    run(app)
