"""`python -m tests.chaos.histories --histories N --seed S`: prints the shortest steps and seed of a
failure."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Annotated

import typer
from rich.progress import Progress

from tests.chaos.histories.history import History, histories
from tests.chaos.simulate import BACKENDS

AT_ONCE = 50


def main(
    number: Annotated[
        int, typer.Option("--histories", min=1, help="How many, one seed after the other.")
    ] = 20_000,
    seed: Annotated[int | None, typer.Option(help="The first seed; a new one, printed.")] = None,
    backend: Annotated[str, typer.Option(help="sqlite or postgresql, which has two guardians.")] = "sqlite",
    processes: Annotated[int, typer.Option(min=1)] = 2,
) -> None:
    """Let histories happen and check each one; the exit status is 1 where something did not hold."""
    if backend not in BACKENDS:
        raise typer.BadParameter(f"choose one of {', '.join(BACKENDS)}")
    first = secrets.randbelow(2**31) if seed is None else seed
    print(f"{backend}: {number} histories from seed {first}", flush=True)
    began = time.monotonic()
    used, found = 0.0, list[History]()
    with ProcessPoolExecutor(processes) as pool, Progress() as progress:
        bar = progress.add_task(f"histories on {backend}", total=number)
        starts = range(first, first + number, AT_ONCE)
        parts = [pool.submit(_part, backend, at, min(at + AT_ONCE, first + number)) for at in starts]
        for part in as_completed(parts):
            took, some = part.result()
            used += took
            for history in some:
                if history.problems:
                    _show(history, backend)
            found += some
            progress.advance(bar, len(some))
    failed = sum(bool(history.problems) for history in found)
    print(
        f"{backend}: {number} histories from seed {first} in {time.monotonic() - began:.0f} s,"
        f" {1000 * used / number:.0f} ms of processor time each: {_total(found, 'steps')} steps,"
        f" {_total(found, 'releases')} releases, {_total(found, 'publications')} publications;"
        f" {failed} histories failed"
    )
    sys.exit(1 if failed else 0)


def _part(backend: str, first: int, end: int) -> tuple[float, list[History]]:
    began = time.process_time()
    found = list(histories(backend, range(first, end)))
    return time.process_time() - began, found


def _total(found: Sequence[History], what: str) -> int:
    return sum(getattr(history, what) for history in found)


def _show(history: History, backend: str) -> None:
    print(f"\nseed {history.seed} ({backend}), the shortest steps that fail:", *history.events, sep="\n  ")
    print(*history.problems, sep="\n")
    print(
        f"again: python -m tests.chaos.histories --backend {backend} --seed {history.seed} --histories 1",
        flush=True,
    )


if __name__ == "__main__":
    typer.run(main)
