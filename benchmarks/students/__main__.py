"""Measures students of private labels of MNIST: `python -m benchmarks.students`."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from enum import StrEnum
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import TaskID

from benchmarks.students.cells import Cell, cell
from benchmarks.students.data import divide
from benchmarks.students.settings import FULL, MNIST, QUICK, Setting
from benchmarks.students.table import table
from benchmarks.students.votes import votes
from ostraka.common.console.cli import run, write_json
from ostraka.common.telemetry import progress

app = typer.Typer(add_completion=False)


class Student(StrEnum):
    """The algorithms."""

    SUPERVISED = "supervised"
    VAT = "vat"
    MIXMATCH = "mixmatch"
    FIXMATCH = "fixmatch"


@app.command()
def main(
    cache: Annotated[Path, typer.Option(help="Folder of votes and measures.")] = Path("runs/students"),
    only: Annotated[Student | None, typer.Option(help="One student alone.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many of each.")] = 3,
    steps: Annotated[int | None, typer.Option(min=1, help="Of every student; none: the setting's.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Digits and a few steps: does it run?")] = False,
    json: Annotated[str | None, typer.Option(help="File for everything measured; - is stdout.")] = None,
) -> None:
    """Trains the teachers and students that are not in the cache and prints a table of all."""
    setting = QUICK if quick else FULL
    setting = replace(setting, steps=steps or setting.steps)
    if not quick and not MNIST.exists():
        typer.echo("students: skipped, ../shared/data lies not beside the checkout")
        return
    cache.mkdir(parents=True, exist_ok=True)
    students = [student for student in Student if only in (None, student)]
    found = list(_measure(setting, cache, students, seeds))
    if json != "-":
        typer.echo(table(found))
    write_json({"cells": [asdict(one) for one in found]}, json)


def _measure(setting: Setting, cache: Path, students: list[Student], seeds: int) -> Iterator[Cell]:
    division = divide(setting)
    wanted = list(product(range(seeds), setting.plans, students))
    with progress() as display:
        teaching = display.add_task("teachers", total=None)
        measuring = display.add_task("students", total=len(wanted))
        learning = display.add_task("steps of one", total=None)
        told = partial(_tell, display.update, teaching)
        cast = votes(setting, division, cache, told)
        told(1, 1)
        for seed, plan, student in wanted:
            steps = partial(_tell, display.update, learning)
            yield cell(cache, setting, division, cast, student.value, plan, seed, steps)
            display.advance(measuring)


def _tell(update: Callable[..., None], task: TaskID, done: int, total: int) -> None:
    update(task, completed=done, total=total)


if __name__ == "__main__":
    run(app)
