"""Queries per second of a session with two batches open and with one, alternately: ten parties.

Each party has one linear teacher. All sites are processes on this machine, so with fewer cores than parties
the gain is smaller. With remote parties, part of a vote's time is not this machine's: the querying party
waits for it.
"""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from unittest import mock

from benchmarks.blobs import write_blobs
from benchmarks.sessions import Measured, Served, serve
from ostraka.client.peers.party_peer import VoteBatch, Voter
from ostraka.client.run.options import PlanOptions
from ostraka.client.session import batches
from ostraka.deploy.simulation.settings import Settings
from ostraka.services.encrypted.head_processes import cores

PARTIES = 10  # more would share this machine's cores even more
QUERIES = {1000: 6000, 100: 2000}
"""Number of queries, by batch size."""
ELSEWHERE_S = (0.0, 0.1)
"""Seconds of each vote that are spent elsewhere."""
REPEATS = 3  # odd, so the median is one of them


def main() -> None:
    """Print each session, then the median ratio of consecutive sessions."""
    print(f"{PARTIES} parties with one linear teacher each, {cores()} cores")
    with tempfile.TemporaryDirectory() as folder, serve(settings(Path(folder)), Path(folder)) as federation:
        for elsewhere_s in ELSEWHERE_S:
            print(f"votes take {elsewhere_s} s elsewhere")
            for batch, queries in QUERIES.items():
                with slower(elsewhere_s):
                    print(_line(batch, list(compare(federation, batch, queries, f"{elsewhere_s}-{batch}"))))


def compare(federation: Served, batch: int, queries: int, name: str) -> Iterator[tuple[float, float]]:
    """Yield queries per second with one batch open and with two, for alternating sessions."""
    settings = federation.settings
    options = PlanOptions(
        mechanism=settings.plan_mechanism, quorum=settings.least_parties, batch_size=batch, queries=queries
    )
    for run in range(REPEATS):
        with mock.patch.object(batches, "one_at_a_time", return_value=True):
            one = federation.ask(options, f"{name}-one-{run}")
        two = federation.ask(options, f"{name}-two-{run}")
        print(cost_text("one", one), cost_text("two", two), sep="\n")
        yield queries / one.seconds, queries / two.seconds


@contextmanager
def slower(seconds: float) -> Iterator[None]:
    """Delay every vote by `seconds`."""
    vote = Voter.vote

    async def slow(voter: Voter, batch: VoteBatch) -> bytes:
        await asyncio.sleep(seconds)
        return await vote(voter, batch)

    with mock.patch.object(Voter, "vote", slow):
        yield


def settings(folder: Path) -> Settings:
    """Return a federation of parties with one linear teacher each, whose records are in `folder`."""
    return Settings.model_validate(
        {
            "data": str(write_blobs(folder / "records.npz", 2000, max(QUERIES.values()) + 1000)),
            "parties": PARTIES,
            "teachers": 1,
            "labelled": 20,
            "queries": max(QUERIES.values()),
            "batch_size": max(QUERIES),
            "epsilon": 1e6,
            "head": "linear",
            "bound": "worst_case",
        }
    )


def cost_text(most: str, one: Measured) -> str:
    """Return the line of a session; `most` is the number of open batches."""
    return (
        f"  {most} open: {one.result.asked / one.seconds:,.0f} queries/s; processor: "
        f"querying party {one.querier_s:.2f} s, parties {one.parties_s:.2f}, guardian {one.guardian_s:.2f}"
    )


def _line(batch: int, rates: list[tuple[float, float]]) -> str:
    ratios = [two / one for one, two in rates]
    one, two = (median(column) for column in zip(*rates, strict=True))
    return (
        f"batches of {batch}: medians {one:,.0f} and {two:,.0f} queries/s, "
        f"{median(ratios):.2f} times ({min(ratios):.2f} to {max(ratios):.2f})"
    )


if __name__ == "__main__":
    main()
