"""Advice held against what happens: 30 cases from real tables that nothing of it was set on.

`python -m benchmarks.advice`; `--tuning` runs the 60 cases of other tables that it was developed on.
Each case is in part unseen by the advice. What was measured is kept, and only what is missing is measured. A
case whose table is not here is skipped, and told.
"""

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.advice.cases import HELD_CASES, TUNING_CASES
from benchmarks.advice.cells import load_or_measure
from benchmarks.advice.held import Held, compare, table_of_cases, tell_errors, tell_held
from ostraka.common.console.cli import run, write_json

app = typer.Typer(add_completion=False)
WIDTH = 130  # characters of the table


@app.command()
def main(
    cache: Annotated[Path, typer.Option(help="Folder of what was measured.")] = Path("runs/advice"),
    tuning: Annotated[bool, typer.Option(help="The cases that it was developed on.")] = False,
    only: Annotated[str, typer.Option(help="Numbers of cases with commas, from 1; all: every one.")] = "all",
    json: Annotated[str | None, typer.Option(help="File for everything measured; - is stdout.")] = None,
) -> None:
    """Advise on every case, measure what happens, and print both."""
    console = Console(width=max(WIDTH, Console().width))
    cases = TUNING_CASES if tuning else HELD_CASES
    chosen = range(1, len(cases) + 1) if only == "all" else map(int, only.split(","))
    found: list[Held] = []
    for number in chosen:
        try:
            held = compare(cases[number - 1], load_or_measure(cases[number - 1], cache))
        except FileNotFoundError as missing:
            console.print(f"{number}: skipped: not here ({missing})")
            continue
        found.append(held)
        console.print(f"{number}:", *tell_held(held))
    console.print(table_of_cases(found))
    console.print(*tell_errors(found), sep="\n")
    write_json([{**asdict(one), "near": one.near, "within": one.within} for one in found], json)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    run(app)
