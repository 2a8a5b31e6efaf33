"""Measures a party's speed: `python -m benchmarks.serving`."""

from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks.serving.ensembles import CASES, ensembles, ensembles_table
from benchmarks.serving.vote_path import vote_paths, vote_table
from ostraka.common.console.cli import run, write_json
from ostraka.common.telemetry import progress

WIDTH = 140  # characters of the widest table

app = typer.Typer(add_completion=False)


class Part(StrEnum):
    """Parts that can be measured separately."""

    ENSEMBLES = "ensembles"
    VOTES = "votes"


@app.command()
def main(
    only: Annotated[Part | None, typer.Option(help="Measure this part alone.")] = None,
    teachers: Annotated[int, typer.Option(min=1, help="Teachers of an ensemble.")] = 25,
    repeats: Annotated[int, typer.Option(min=1, help="Runs of each layout; the shortest counts.")] = 3,
    model: Annotated[str | None, typer.Option(help="Measure ensembles of this model alone.")] = None,
    json: Annotated[str | None, typer.Option(help="File for everything measured; - is stdout.")] = None,
) -> None:
    """Compare ensembles by layout, and whole votes with the bare forward pass, and print tables."""
    console = Console(width=max(WIDTH, Console().width), stderr=json == "-")
    measured: dict[str, Any] = {}
    if only != Part.VOTES:
        cases = [case for case in CASES if model in (None, case.model)]
        with progress() as bar:
            runs = bar.add_task(
                "Training and asking", total=sum(len(case.layouts) for case in cases) * repeats
            )
            layouts = list(ensembles(teachers, repeats, cases, lambda: bar.advance(runs)))
        console.print(ensembles_table(teachers, layouts))
        measured["ensembles"] = [
            {**asdict(one), "times_faster": {work: one.times_faster(work) for work in one.costs}}
            for one in layouts
        ]
    if only != Part.ENSEMBLES:
        paths = list(vote_paths())
        console.print(vote_table(paths))
        measured["votes"] = [
            {
                **asdict(one),
                "of_forward": one.of_forward,
                "of_ensemble": one.of_ensemble,
                "concurrent_of_forward": one.concurrent_of_forward,
            }
            for one in paths
        ]
    write_json(measured, json)


if __name__ == "__main__":
    run(app)
