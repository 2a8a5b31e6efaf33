"""Plant faults and report which test finds each: `python -m tests.mutants [--only NAME] [--sample N]`."""

from __future__ import annotations

import json
import random
import secrets
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console

from tests.mutants.fault import Fault, load
from tests.mutants.planting import Planter, Trial, attempts
from tests.mutants.telling import as_table, summary


def chosen(
    faults: Sequence[Fault], only: Sequence[str], first: int | None, sample: int | None, seed: int
) -> list[Fault]:
    """Return the faults to plant, in the order of their lists."""
    unknown = set(only) - {fault.name for fault in faults}
    if unknown:
        raise typer.BadParameter(f"no fault is called {', '.join(sorted(unknown))}")
    found = [fault for fault in faults if not only or fault.name in only][:first]
    if sample is None:
        return found
    drawn = random.Random(seed).sample(range(len(found)), min(sample, len(found)))  # noqa: S311
    return [found[place] for place in sorted(drawn)]


def main(
    only: Annotated[list[str] | None, typer.Option(help="Plant this one; may be given again.")] = None,
    first: Annotated[int | None, typer.Option(min=1, help="Plant the first so many.")] = None,
    sample: Annotated[int | None, typer.Option(min=1, help="Plant so many, drawn at random.")] = None,
    seed: Annotated[int | None, typer.Option(help="What the draw follows from; a new one, printed.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Leave with status 1 where a fault survives, cannot be planted, or a test fails without one."""
    console, told = Console(stderr=as_json), Console(stderr=True)
    seed = secrets.randbits(32) if seed is None else seed
    faults = chosen(load(), only or [], first, sample, seed)
    if sample is not None:
        told.print(f"{len(faults)} faults, drawn with --sample {sample} --seed {seed}")
    with Planter() as planter:
        wrong = planter.control(faults)
        if wrong:
            console.print("These tests fail without a fault:", style="red")
            console.print(wrong, markup=False)
            raise typer.Exit(1)
        trials = list(attempts(planter, faults, lambda trial: _tell(trial, told)))
    if as_json:
        print(json.dumps([asdict(trial) for trial in trials], indent=1))
    else:
        console.print(as_table(trials))
        console.print(summary(trials), markup=False)
    raise typer.Exit(any(trial.problem for trial in trials))


def _tell(trial: Trial, console: Console) -> None:
    ended = trial.problem or f"killed in {trial.seconds:.1f} s"
    console.print(f"{trial.fault.name}: {ended}", markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    typer.run(main)
