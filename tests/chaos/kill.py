"""SIGKILL of a real guardian at random moments, over real sockets: `python -m tests.chaos.kill --rounds N`.

A guardian is started, asked for batch after batch, killed, and started again on the same ledger. The outcome
of a batch that was in progress is then asked from the new guardian, by a repeated release or a settlement.
"""

from __future__ import annotations

import secrets
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import track

from ostraka.deploy.simulation.processes import Start, Supervisor, forking
from tests.chaos.places import folder, places
from tests.chaos.siege import Siege
from tests.guardian.federation import Federation

POLICY = 'enforce = "worst_case"\nbound = "worst_case"\nmin_sigma = 0.5\nmin_quorum = 2\n'


def besiege(
    root: Path, rounds: int, seed: int, start: Start, url: str | None = None, *, shown: bool = False
) -> Siege:
    """Run a siege of this many rounds on a new federation in `root`, with its ledger in SQLite or at
    `url`."""
    federation = Federation(root, policy=POLICY)
    if url is not None:
        with (federation.guardian_folder / "site.toml").open("a") as file:
            file.write(f'\n[ledger]\nurl = "{url}"\naddress = "127.0.0.1:7000"\n')
    siege = Siege(federation, seed)
    with Supervisor(root / "logs", start=start) as home:
        siege.prepare(home)
        for _ in track(range(rounds), "rounds", disable=not shown):
            siege.round(home)
        siege.finish(home)
    return siege


def main(
    rounds: Annotated[int, typer.Option(min=1, help="How often the guardian is killed.")] = 200,
    seed: Annotated[
        int | None, typer.Option(help="Of the moments and the batches; a new one, printed.")
    ] = None,
    backend: Annotated[str, typer.Option(help="sqlite or postgresql.")] = "sqlite",
) -> None:
    """Kill a guardian over and over; the exit status is 1 where something did not hold."""
    seed = secrets.randbelow(2**31) if seed is None else seed
    print(f"{backend}: {rounds} kills from seed {seed}", flush=True)
    with ExitStack() as stack:
        where = stack.enter_context(places(backend))()
        root = stack.enter_context(folder())
        start = stack.enter_context(forking())
        siege = besiege(root, rounds, seed, start, None if isinstance(where, Path) else where, shown=True)
        found = siege.problems()
    answered = sum(bool(batch.answers) for batch in siege.batches)
    print(f"{backend}: {siege.kills} kills, {len(siege.batches)} batches, {answered} answered, seed {seed}")
    print(*found, sep="\n")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    typer.run(main)
