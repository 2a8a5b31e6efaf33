"""Measures Tables 1 and 2 of Dziedzic et al. 2023: `python -m benchmarks.capc_multilabel`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.capc_multilabel import tables
from benchmarks.capc_multilabel.cells import Central, Retrained, cells, how_many
from benchmarks.capc_multilabel.data import QUICK, SETTINGS, Setting
from benchmarks.capc_multilabel.plot import plot
from benchmarks.dpsgd.tables import markdown, table
from ostraka.common.console.cli import run, write_json
from ostraka.common.telemetry import progress

app = typer.Typer(add_completion=False)
WIDTH = 160  # characters of the widest table
FIRST = "Table 1: querying parties before and after, in %"
SECOND = "Table 2: records in one place, in %"
THIRD = "Balanced accuracy after less before, in points, ± standard error over seeds"


@app.command()
def main(
    cache: Annotated[Path, typer.Option(help="Folder of what was measured.")] = Path("runs/capc_multilabel"),
    only: Annotated[str | None, typer.Option(help="One dataset alone.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Digits with labels, one seed: seconds.")] = False,
    json: Annotated[str | None, typer.Option(help="File for everything measured; - is stdout.")] = None,
    text: Annotated[Path | None, typer.Option(help="File for the tables as Markdown.")] = None,
    image: Annotated[Path | None, typer.Option(help="File for a plot.")] = None,
) -> None:
    """Measures what is not in the cache and prints it."""
    console = Console(width=max(WIDTH, Console().width))
    settings = [QUICK] if quick else [one for one in SETTINGS if only in (None, one.name)]
    for one in settings:
        if not one.there:
            console.print(f"{one.name}: skipped, ../shared/data lies not beside the checkout")
    retrained, central = _measure([one for one in settings if one.there], cache)
    every = (
        (FIRST, tables.RETRAINED, list(tables.rows_of_table_1(retrained))),
        (THIRD, tables.GAINS, list(tables.gains(retrained))),
        (SECOND, tables.CENTRAL, list(tables.central_rows(central))),
    )
    for title, heads, rows in every:
        console.print(table(title, heads, iter(rows)))
    if text is not None:
        text.write_text(
            "\n".join(f"{title}\n\n{markdown(heads, iter(rows))}" for title, heads, rows in every)
        )
    write_json(
        {"retrained": [asdict(one) for one in retrained], "central": [asdict(one) for one in central]}, json
    )
    if image is not None and retrained:
        plot(retrained, image)


def _measure(settings: list[Setting], cache: Path) -> tuple[list[Retrained], list[Central]]:
    retrained: list[Retrained] = []
    central: list[Central] = []
    with progress() as display:
        for setting in settings:
            bar = display.add_task(setting.name, total=how_many(setting))
            for cell in cells(setting, cache, lambda bar=bar: display.advance(bar)):  # type: ignore[misc]
                if isinstance(cell, Retrained):
                    retrained.append(cell)
                else:
                    central.append(cell)
    return retrained, central


if __name__ == "__main__":
    run(app)
