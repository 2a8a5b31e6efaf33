"""Makes every table and figure of the five papers: `python -m benchmarks.reproduce`."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from ostraka.common.console.cli import ExitStatus, run
from ostraka.common.telemetry import progress

if TYPE_CHECKING:
    from benchmarks.reproduce.cell import Cell
    from benchmarks.reproduce.store import Record, Store

PAGE = Path(__file__).parents[2] / "docs" / "reproductions.md"
WIDTH = 150  # characters of the widest table
app = typer.Typer(add_completion=False)


@app.command()
def main(
    only: Annotated[
        list[str] | None, typer.Option(help="A cell, or a table, figure or paper; again for more.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="All in small: does everything run?")] = False,
    older: Annotated[
        bool,
        typer.Option("--older", help="Only what older code made, the cheapest first; does it still agree?"),
    ] = False,
    seconds: Annotated[
        float | None, typer.Option(min=0, help="With --older: as many cells as take no longer together.")
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="Say which cells there are and which are kept.")
    ] = False,
    page: Annotated[
        bool,
        typer.Option("--page", help="Write pages of docs and their pictures of what is kept; run nothing."),
    ] = False,
    data: Annotated[
        Path | None, typer.Option(help="Data folder; else ../shared/data by the checkout.")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Of what was measured; else build/reproductions.")
    ] = None,
) -> None:
    """Make every cell that is not kept yet, each once; Ctrl-C keeps what has ended."""
    if quick:
        # Threads of such small networks wait longer than they work.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    if data is not None:
        os.environ["OSTRAKA_BENCHMARK_DATA"] = str(data.resolve())
    from benchmarks.reproduce import store as stored
    from benchmarks.reproduce.registry import choose
    from benchmarks.reproduce.running import find_outdated

    if seconds is not None and not older:
        raise typer.BadParameter("it is of use with --older alone", param_hint="--seconds")
    store = stored.Store(cache or stored.FOLDER, stored.RECORDS)
    cells: Sequence[Cell] = choose(only or [])
    if not cells:
        raise typer.BadParameter(
            "no cell, table, figure or paper has this name; see --list", param_hint="--only"
        )
    if older:
        cells = find_outdated(cells, store)
    if list_:
        _list(cells, store)
    elif page:
        _write_page(store)
    elif older:
        _run_older(cells, store, seconds)
    else:
        _run(cells, store, quick)


def _list(cells: Sequence["Cell"], store: "Store") -> None:
    from benchmarks.reproduce.page import word_of

    table = Table("name", "shows", "word")
    for cell in cells:
        table.add_row(cell.id, cell.shows, word_of(cell, store.newest(cell)))
    Console(width=max(WIDTH, Console().width)).print(table)


def _write_page(store: "Store") -> None:
    from benchmarks.reproduce.drawing import draw
    from benchmarks.reproduce.extracts import EXTRACTS, fill
    from benchmarks.reproduce.page import IMAGES, outcome_of_picture, page
    from benchmarks.reproduce.pictures import PICTURES
    from benchmarks.reproduce.registry import cells
    from ostraka.common.files.durable import write_atomic

    for cell in cells():
        store.show(cell)
        if outcome := outcome_of_picture(cell, store):
            draw(PICTURES[cell.id], outcome, PAGE.parent / IMAGES / f"{cell.id}.svg")
    write_atomic(PAGE, page(store))
    typer.echo(f"{PAGE} is written.")
    for name in EXTRACTS:
        file = PAGE.with_name(name)
        write_atomic(file, fill(file.read_text(encoding="utf-8"), EXTRACTS[name], store))
        typer.echo(f"{file} has its tables.")


def _run_older(cells: Sequence["Cell"], store: "Store", seconds: float | None) -> None:
    """Run cells whose numbers on the page are from older code, and compare the new numbers."""
    from benchmarks.reproduce.agreement import disagreements
    from benchmarks.reproduce.running import affordable, has_data

    runnable = [cell for cell in cells if has_data(cell)]
    chosen = runnable if seconds is None else affordable(runnable, store, seconds)
    typer.echo(
        f"{len(cells)} rows are by older code; skipped: {len(cells) - len(runnable)} without their data, "
        f"{len(runnable) - len(chosen)} that take longer."
    )
    before = {cell.id: store.on_page(cell) for cell in chosen}
    _run(chosen, store, quick=False)
    differing = 0
    for cell in chosen:
        old = before[cell.id]
        new = store.whole(cell)
        assert old
        assert old.outcome
        assert new
        assert new.outcome
        for said in disagreements(old.outcome, new.outcome):
            typer.echo(f"{cell.id}: {said}", err=True)
            differing += 1
    typer.echo(f"{differing} numbers differ from those by older code; --page puts the new ones on the page.")
    if differing:
        raise typer.Exit(ExitStatus.STOPPED)


def _run(cells: Sequence["Cell"], store: "Store", quick: bool) -> None:
    """Run what is not cached; the bar's length is the cells' approximate seconds, to show the time left."""
    from benchmarks.reproduce.page import duration
    from benchmarks.reproduce.running import estimate_seconds, reproduce, waiting

    left = waiting(cells, store, quick=quick)
    runnable = [cell for cell in cells if cell.run]
    takes = {cell.id: estimate_seconds(cell, store, quick=quick) for cell in left}
    total = sum(takes.values())
    failed = 0
    typer.echo(f"{len(left)} cells to run, about {duration(total)} of a processor.")
    try:
        with progress() as display:
            bar = display.add_task("", total=total)

            def tell(cell: "Cell", record: "Record | None") -> None:
                if record is None:
                    display.update(bar, description=f"{cell.id} ({1 + left.index(cell)} of {len(left)})")
                else:
                    display.advance(bar, takes[cell.id])
                    display.console.print(_line(cell, record), highlight=False, soft_wrap=True)

            for record in reproduce(runnable, store, quick=quick, tell=tell):
                failed += record.outcome is None
    except KeyboardInterrupt:
        typer.echo("Stopped. What has ended is kept; the same command goes on from there.", err=True)
        raise typer.Exit(ExitStatus.INTERRUPTED) from None
    typer.echo(f"{len(runnable) - len(left)} cells were kept, {len(left)} were run, {failed} failed.")
    if failed:
        raise typer.Exit(ExitStatus.STOPPED)


def _line(cell: "Cell", record: "Record") -> str:
    said = record.error or (cell.word(record.outcome) if record.outcome else "")
    return f"{cell.id}: {said} ({record.seconds:.0f} s)"


if __name__ == "__main__":
    run(app)
