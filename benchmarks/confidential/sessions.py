"""Whole sessions over gRPC and mutual TLS, with a process per site, in all four combinations."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from benchmarks.sessions import Served, serve
from ostraka.client.run.options import PlanOptions
from ostraka.client.session.meter import StepTotals
from ostraka.common.plan.choices import ENCODING, TALLY
from ostraka.deploy.simulation.settings import Settings

ENCODINGS: tuple[ENCODING, ...] = ("plain", "ckks")
TALLIES: tuple[TALLY, ...] = ("aggregate", "blind")


@dataclass(frozen=True)
class Session:
    """A measured session.

    Attributes:
        queries: number of queries asked.
        answered: number of queries that got a label.
        seconds: from opening the session to its last answer.
        querier_s: processor time of the querying party.
        party_s: of an answering party, on average.
        guardian_s: of the guardian.
        steps: the querying party's steps: peer, number, duration and bytes.
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
    """Train once, then ask the same pool in each combination; budgets suffice for all."""
    with serve(settings, folder) as federation:
        for encoding, tally in product(encodings, tallies):
            yield _run(federation, encoding, tally)


def _run(federation: Served, encoding: ENCODING, tally: TALLY) -> Session:
    settings = federation.settings
    options = PlanOptions(
        mechanism=settings.plan_mechanism,
        quorum=settings.least_parties,
        batch_size=settings.plan.batch_size,
        encoding=encoding,
        tally=tally,
    )
    measured = federation.ask(options, f"{encoding}-{tally}")
    assert not measured.result.left_out, "a party was left out"
    return Session(
        encoding=encoding,
        tally=tally,
        queries=measured.result.asked,
        answered=measured.result.answered,
        seconds=measured.seconds,
        querier_s=measured.querier_s,
        party_s=measured.parties_s / settings.records.parties,
        guardian_s=measured.guardian_s,
        steps=measured.result.steps,
    )
