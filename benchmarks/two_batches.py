"""Queries a second of a session with two batches open, and with one at a time, in turns: ten parties.

Each party has one linear teacher. Everyone is a process on this machine, so that fewer cores than parties
leave less to gain. Where parties are elsewhere, a vote takes time that is not this machine's: the querying
party waits for it.
"""

import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from unittest import mock

from benchmarks.blobs import write_blobs
from benchmarks.processors import cores, processor_seconds
from ostraka.client.peers.voter import VoteBatch, Voter
from ostraka.client.run.labelling import label
from ostraka.client.run.options import PlanOptions
from ostraka.deploy.simulation.federation import GUARDIAN, QUERY, Federation
from ostraka.deploy.simulation.process_start import Start, fresh
from ostraka.deploy.simulation.processes import Child, Supervisor
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.split import split_data

PARTIES = 10
QUERIES = {1000: 6000, 100: 2000}
"""How many are asked in batches of so many."""
ELSEWHERE_S = (0.0, 0.1)
"""Seconds of each vote that are spent elsewhere."""
REPEATS = 3


@dataclass(frozen=True)
class Asked:
    """One session: its queries a second, and the processor seconds of each role for all of them."""

    batch: int
    open: int
    rate: float
    processor_s: dict[str, float]


def main() -> None:
    """Print each session, then the median ratio of the sessions that were asked one after the other."""
    print(f"{PARTIES} parties with one linear teacher each, {cores()} cores")
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as asking:
        for elsewhere_s in ELSEWHERE_S:
            print(f"votes take {elsewhere_s} s elsewhere")
            with _slower(elsewhere_s):
                for batch in QUERIES:
                    _compare(asking, batch)


def _compare(asking: "Asking", batch: int) -> None:
    ratios = []
    for _ in range(REPEATS):
        one, two = (asking.run(batch, most) for most in (1, 2))
        ratios.append(two.rate / one.rate)
        print(_line(one), _line(two), sep="\n")
    print(f"batches of {batch}: {median(ratios):.2f} times ({min(ratios):.2f} to {max(ratios):.2f})")


@dataclass(frozen=True)
class Asking:
    """A federation that serves."""

    federation: Federation
    settings: Settings
    children: dict[str, Child]

    def run(self, batch: int, most: int) -> Asked:
        """Ask in batches of so many queries, of which `most` are open at a time."""
        site, settings, queries = self.federation.site(QUERY), self.settings, QUERIES[batch]
        options = PlanOptions(
            mechanism=settings.plan_mechanism,
            quorum=settings.least_parties,
            batch_size=batch,
            queries=queries,
        )
        spent: dict[str, float] = {}
        began = time.perf_counter()
        with _at_most(most), processor_seconds(self.children, spent), tempfile.TemporaryDirectory() as folder:
            result = label(site, site / "pool.npz", options, Path(folder, "run"))
        seconds = time.perf_counter() - began
        assert result.asked == queries, "a session stopped early"
        roles = {role: spent[role] for role in (QUERY, GUARDIAN)}
        parties = sum(spent[party] for party in settings.sites)
        return Asked(batch, most, queries / seconds, {**roles, "parties": parties})


@contextmanager
def serving(folder: Path, start: Start = fresh) -> Iterator[Asking]:
    """Train and serve a federation in `folder` within the block; its budgets pay for everything."""
    settings = Settings.model_validate(
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
    split = split_data(settings)
    with Supervisor(folder / "logs", {"OMP_NUM_THREADS": "1"}, start=start) as processes:
        federation = Federation(folder / "sites", settings, processes)
        federation.provision()
        federation.place(split)
        federation.train()
        children = federation.serve()
        federation.set_budgets()
        yield Asking(federation, settings, children)


@contextmanager
def _at_most(batches: int) -> Iterator[None]:
    if batches == 2:
        yield
        return
    with mock.patch.object(batches, "one_at_a_time", return_value=True):
        yield


@contextmanager
def _slower(seconds: float) -> Iterator[None]:
    """Have every vote take so many seconds more."""
    vote = Voter.vote

    async def slow(voter: Voter, batch: VoteBatch) -> bytes:
        await asyncio.sleep(seconds)
        return await vote(voter, batch)

    with mock.patch.object(Voter, "vote", slow):
        yield


def _line(asked: Asked) -> str:
    spent = ", ".join(f"{role} {seconds:.2f} s" for role, seconds in asked.processor_s.items())
    return f"batches of {asked.batch}, {asked.open} open: {asked.rate:,.0f} queries/s; processor: {spent}"


if __name__ == "__main__":
    main()
