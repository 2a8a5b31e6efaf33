"""Whole sessions over gRPC and mutual TLS, with a process per site, with verified and unverified ballots."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from benchmarks.sessions import Served, serve
from ostraka.client.run.options import PlanOptions
from ostraka.common.plan.choices import BALLOTS
from ostraka.deploy.simulation.settings import Settings

KINDS: tuple[BALLOTS, ...] = ("unverified", "verified")


@dataclass(frozen=True)
class Session:
    """A measured session.

    Attributes:
        ballots: verified or unverified.
        answered: number of labels.
        seconds: from opening the session to its last answer.
        processors: seconds of the querying party, of all parties and of the guardian.
        sent: bytes between the querying party and the others, in both directions.
    """

    ballots: BALLOTS
    answered: int
    seconds: float
    processors: tuple[float, float, float]
    sent: int


def run_sessions(settings: Settings, folder: Path, repeats: int) -> Iterator[Session]:
    """Train once, then ask the same pool with each kind of ballots alternately; budgets suffice for all."""
    with serve(settings, folder) as federation:
        for run in range(repeats):
            for ballots in KINDS:
                yield _run(federation, ballots, run)


def _run(federation: Served, ballots: BALLOTS, run: int) -> Session:
    settings = federation.settings
    options = PlanOptions(
        mechanism=settings.plan_mechanism,
        quorum=settings.records.parties,
        batch_size=settings.plan.batch_size,
        ballots=ballots,
    )
    measured = federation.ask(options, f"{ballots}-{run}")
    return Session(
        ballots=ballots,
        answered=measured.result.answered,
        seconds=measured.seconds,
        processors=(measured.querier_s, measured.parties_s, measured.guardian_s),
        sent=sum(step.sent + step.received for step in measured.result.steps),
    )


def sessions_table(settings: Settings, sessions: list[Session]) -> Table:
    """Tabulate the fastest session of each kind, and the second relative to the first."""
    table = Table(
        "ballots",
        "labels/s",
        "querying party",
        "all parties",
        "guardian",
        "querying party's bytes",
        title=f"{settings.records.parties} parties x {settings.teaching.teachers} teachers, "
        f"{settings.records.queries} queries in batches of {settings.plan.batch_size}: "
        f"processor seconds and bytes of the fastest of {len(sessions) // len(KINDS)} sessions",
    )
    for kind in KINDS:
        one = fastest(sessions, kind)
        table.add_row(
            kind,
            f"{one.answered / one.seconds:.0f}",
            *(f"{seconds:.2f}" for seconds in one.processors),
            f"{one.sent:,}",
        )
    table.caption = f"labels/s, verified to unverified: {ratio(sessions):.2f}"
    return table


def ratio(sessions: list[Session]) -> float:
    """Return labels per second with verified ballots, relative to those without."""
    rates = [one.answered / one.seconds for one in (fastest(sessions, kind) for kind in KINDS)]
    return rates[1] / rates[0]


def fastest(sessions: list[Session], kind: BALLOTS) -> Session:
    """Return the session of a kind with most labels per second."""
    return max((one for one in sessions if one.ballots == kind), key=lambda one: one.answered / one.seconds)
