"""Measures a guardian under load: `python -m benchmarks.load --parties 10,100,1000`."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks.load.plot import plot as draw
from benchmarks.load.run import QUERIES, Case, measure
from benchmarks.load.tables import attach_table, growth_table, load_table
from ostraka.common.console.cli import run, write_json

WIDTH = 140  # characters of the widest table
app = typer.Typer(add_completion=False)


@app.command()
def main(
    parties: Annotated[str, typer.Option(help="How many parties, one case each.")] = "10,100,1000,5000",
    ballots: Annotated[str, typer.Option(help="Of plain, verified and blind.")] = "plain",
    ledger: Annotated[str, typer.Option(help="Of sqlite and postgresql.")] = "sqlite",
    guardians: Annotated[int, typer.Option(min=1, help="On one ledger; several need postgresql.")] = 1,
    queries: Annotated[int, typer.Option(min=1, help="Of a batch.")] = QUERIES,
    relay: Annotated[bool, typer.Option("--relay", help="Parties call the guardian by a relay.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Picture of how the first kind of case grows.")] = None,
    json: Annotated[str | None, typer.Option(help="File for everything measured; - is stdout.")] = None,
) -> None:
    """Measure each case, and print what each kind of call costs and how that grows with parties."""
    if relay and guardians > 1:
        raise typer.BadParameter("parties reach one guardian by a relay")
    console = Console(width=max(WIDTH, Console().width), stderr=json == "-")
    measured: list[dict[str, Any]] = []
    for kind in ballots.split(","):
        for where in ledger.split(","):
            cases = [
                Case(int(number), kind, where, guardians, queries, relay)  # type: ignore[arg-type]
                for number in parties.split(",")
            ]
            results = []
            for case in cases:
                results.append(measure(case))
                console.print(load_table(results[-1]))
            console.print(growth_table(results))
            if relay:
                console.print(attach_table(results))
            measured += results
    if plot is not None:
        draw(measured[: len(parties.split(","))], plot)
    write_json(measured, json)


if __name__ == "__main__":
    run(app)
