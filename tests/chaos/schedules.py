"""Thousands of simulated schedules: `python -m tests.chaos.schedules --schedules N --seed S`.

A failure prints its seed and events; `--seed S --schedules 1` runs it again.
"""

from __future__ import annotations

import secrets
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Annotated

import typer
from rich.progress import Progress

from tests.chaos.simulate import BACKENDS, Simulation, simulate

AT_ONCE = 25


def main(
    schedules: Annotated[int, typer.Option(min=1, help="How many, one seed after the other.")] = 1000,
    seed: Annotated[int | None, typer.Option(help="The first seed; a new one, printed.")] = None,
    backend: Annotated[str, typer.Option(help="sqlite or postgresql, which has two guardians.")] = "sqlite",
    processes: Annotated[int, typer.Option(min=1)] = 2,
) -> None:
    """Simulate schedules and check each one; the exit status is 1 where something did not hold."""
    if backend not in BACKENDS:
        raise typer.BadParameter(f"choose one of {', '.join(BACKENDS)}")
    first = secrets.randbelow(2**31) if seed is None else seed
    print(f"{backend}: {schedules} schedules from seed {first}", flush=True)
    began = time.monotonic()
    batches = answered = failed = 0
    with ProcessPoolExecutor(processes) as pool, Progress() as progress:
        bar = progress.add_task(f"schedules on {backend}", total=schedules)
        starts = range(first, first + schedules, AT_ONCE)
        parts = [pool.submit(_part, backend, at, min(at + AT_ONCE, first + schedules)) for at in starts]
        for part in as_completed(parts):
            for simulation in part.result():
                if simulation.problems:
                    _show(simulation, backend)
                batches += simulation.batches
                answered += simulation.answered
                failed += bool(simulation.problems)
                progress.advance(bar)
    took = time.monotonic() - began
    print(
        f"{backend}: {schedules} schedules from seed {first} in {took:.0f} s"
        f" ({schedules / took:.1f} a second), {batches} batches, {answered} of them answered;"
        f" {failed} schedules failed"
    )
    sys.exit(1 if failed else 0)


def _part(backend: str, first: int, end: int) -> list[Simulation]:
    return list(simulate(backend, range(first, end)))


def _show(simulation: Simulation, backend: str) -> None:
    print(f"\nseed {simulation.seed} ({backend}):", *simulation.events, sep="\n  ")
    print(*simulation.problems, sep="\n")
    again = f"--backend {backend} --seed {simulation.seed} --schedules 1"
    print(f"again: python -m tests.chaos.schedules {again}", flush=True)


if __name__ == "__main__":
    typer.run(main)
