"""`python -m tests.chaos.year --days N --sites N --seed S`: a failure prints its events and its seed."""

from __future__ import annotations

import secrets
import sys
import time
from typing import Annotated

import typer

from tests.chaos.simulate import BACKENDS
from tests.chaos.year.simulation import simulate


def main(
    days: Annotated[int, typer.Option(min=4, max=366, help="Of the year.")] = 365,
    sites: Annotated[int, typer.Option(min=5, max=1000, help="Answering parties.")] = 200,
    seed: Annotated[int | None, typer.Option(help="What happens; a new one, printed.")] = None,
    backend: Annotated[str, typer.Option(help="sqlite or postgresql.")] = "sqlite",
) -> None:
    """Simulate a year and check every day; the exit status is 1 where something did not hold."""
    if backend not in BACKENDS:
        raise typer.BadParameter(f"choose one of {', '.join(BACKENDS)}")
    seed = secrets.randbelow(2**31) if seed is None else seed
    print(f"{backend}: {days} days, {sites} sites, seed {seed}", flush=True)
    began, used = time.monotonic(), time.process_time()
    year = simulate(seed, days, sites, backend)
    took, used = time.monotonic() - began, time.process_time() - used
    if year.problems:
        print(*year.events, *year.problems, sep="\n")
        again = f"--backend {backend} --days {days} --sites {sites} --seed {seed}"
        print(f"again: python -m tests.chaos.year {again}")
    print(*(f"{number:6} {kind}" for kind, number in sorted(year.count.items())), sep="\n")
    print(f"{backend}: {year.days} days in {took:.0f} s, {used:.0f} s of processor time; seed {seed}")
    sys.exit(1 if year.problems else 0)


if __name__ == "__main__":
    typer.run(main)
