"""Whole sessions over gRPC and mutual TLS, every site a process of its own, in all four combinations."""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from benchmarks.processors import processor_seconds
from ostraka.client.run.labelling import LabelResult, label
from ostraka.client.run.options import PlanOptions
from ostraka.client.session.meter import StepTotals
from ostraka.common.plan_fields import ENCODING, TALLY
from ostraka.deploy.simulation.federation import GUARDIAN, QUERY, Federation
from ostraka.deploy.simulation.forking import forking
from ostraka.deploy.simulation.processes import Child, Supervisor
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.split import split_data

ENCODINGS: tuple[ENCODING, ...] = ("plain", "ckks")
TALLIES: tuple[TALLY, ...] = ("aggregate", "blind")


@dataclass(frozen=True)
class Session:
    """One session as measured.

    Attributes:
        queries: asked, of which `answered` got a label.
        seconds: from opening the session to its last answer.
        querier_s: computing time of the querying party's process.
        party_s: of the answering parties' processes, on average.
        guardian_s: of the guardian's process.
        steps: what the querying party did, with whom, how often, how long and with how many bytes.
    """

    encoding: ENCODING
    tally: TALLY
    queries: int
    answered: int
    seconds: float
    querier_s: float
    party_s: float
    guardian_s: float
    steps: tuple[StepTotals, ...]


def run_sessions(
    settings: Settings,
    folder: Path,
    encodings: Iterable[ENCODING] = ENCODINGS,
    tallies: Iterable[TALLY] = TALLIES,
) -> Iterator[Session]:
    """Train once, then ask the same pool in each combination; every charge fits."""
    split = split_data(settings)
    with (
        forking() as start,
        Supervisor(folder / "logs", {"OMP_NUM_THREADS": "1"}, start=start) as processes,
    ):
        federation = Federation(folder / "sites", settings, processes)
        federation.provision()
        federation.place(split)
        federation.train()
        children = federation.serve()
        federation.set_budgets()
        for encoding, tally in product(encodings, tallies):
            yield _run(federation, settings, children, encoding, tally)


def _run(
    federation: Federation,
    settings: Settings,
    children: Mapping[str, Child],
    encoding: ENCODING,
    tally: TALLY,
) -> Session:
    site = federation.site(QUERY)
    options = PlanOptions(
        mechanism=settings.plan_mechanism,
        quorum=settings.least_parties,
        batch_size=settings.batch_size,
        encoding=encoding,
        tally=tally,
    )
    computed: dict[str, float] = {}
    start = time.perf_counter()
    with processor_seconds(children, computed):
        result = label(site, site / "pool.npz", options, site / f"{encoding}-{tally}")
    seconds = time.perf_counter() - start
    _require_all(result)
    return Session(
        encoding=encoding,
        tally=tally,
        queries=result.asked,
        answered=result.answered,
        seconds=seconds,
        querier_s=computed[QUERY],
        party_s=sum(computed[party] for party in settings.sites) / settings.parties,
        guardian_s=computed[GUARDIAN],
        steps=result.steps,
    )


def _require_all(result: LabelResult) -> None:
    assert result.asked == result.queries, "a session stopped early"
    assert not result.left_out, "a party was left out"
