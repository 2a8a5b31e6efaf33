"""Tables of the measurements, per query."""

import math
from collections.abc import Iterable, Sequence

from rich.table import Table

from benchmarks.confidential.prototype import Prototype
from benchmarks.confidential.sessions import Session
from benchmarks.confidential.work import Work
from ostraka.client.session.meter import Peer, StepTotals
from ostraka.deploy.simulation.settings import Settings


def sessions_table(settings: Settings, sessions: Iterable[Session], prototype: Prototype | None) -> Table:
    """Return a table with a row for each combination, and one for the prototype if it ran."""
    table = Table(
        "queries",
        "tally",
        "answers/s",
        "queries/s",
        "ms querying party",
        "ms a party",
        "ms guardian",
        "bytes with a party",
        "bytes with guardian",
        "calls with a party",
        "calls with guardian",
        title=(
            f"{settings.records.parties} parties x {settings.teaching.teachers} teachers, "
            f"{settings.teachers_head} heads, {settings.records.queries} queries in batches of "
            f"{settings.plan.batch_size}: processor ms, bytes a query, calls a batch"
        ),
    )
    for session in sessions:
        table.add_row(*_session_cells(settings, session))
    if prototype is not None:
        table.add_row(*_prototype_cells(prototype))
    return table


def _session_cells(settings: Settings, session: Session) -> Sequence[str]:
    count = session.queries
    batches = math.ceil(session.queries / settings.plan.batch_size)
    return (
        session.encoding,
        session.tally,
        f"{session.answered / session.seconds:.0f}",
        f"{count / session.seconds:.0f}",
        *(f"{1e3 * s / count:.2f}" for s in (session.querier_s, session.party_s, session.guardian_s)),
        f"{bytes_moved(session.steps, 'party') / count / settings.records.parties:,.0f}",
        f"{bytes_moved(session.steps, 'guardian') / count:,.0f}",
        f"{_calls(session.steps, 'party') / batches / settings.records.parties:.1f}",
        f"{_calls(session.steps, 'guardian') / batches:.1f}",
    )


def _prototype_cells(prototype: Prototype) -> Sequence[str]:
    return (
        "prototype",
        "in one process",
        "-",
        "-",
        f"{prototype.querier_ms:.2f}",
        f"{prototype.party_ms:.2f}",
        f"{prototype.guardian_ms:.2f}",
        f"{prototype.comparison_bytes:,} (*)",
        f"{prototype.tally_bytes:,}",
        "-",
        "-",
    )


def bytes_moved(steps: Iterable[StepTotals], peer: Peer) -> int:
    """Return the bytes sent to and received from all peers of a kind."""
    return sum(step.sent + step.received for step in steps if step.peer == peer)


def _calls(steps: Iterable[StepTotals], peer: Peer) -> int:
    return sum(step.times for step in steps if step.peer == peer)


def steps_table(settings: Settings, sessions: Iterable[Session]) -> Table:
    """Tabulate the querying party's steps in each combination; steps with several parties overlap."""
    table = Table(
        "queries",
        "tally",
        "with",
        "step",
        "times",
        "ms a query",
        "bytes sent",
        "bytes received",
        title="Steps of the querying party, waiting included; a query, all parties together",
    )
    for session in sessions:
        for step in session.steps:
            table.add_row(
                session.encoding,
                session.tally,
                step.peer,
                step.name,
                str(step.times),
                f"{1e3 * step.seconds / session.queries:.3f}",
                f"{step.sent / session.queries:,.0f}",
                f"{step.received / session.queries:,.0f}",
            )
    return table


def work_table(works: Iterable[Work]) -> Table:
    """Tabulate the computation of one role in one step, alone in one process."""
    table = Table(
        "case", "role", "step", "ms", "bytes it sends", title="Computing alone, a query or vote: processor ms"
    )
    for work in works:
        table.add_row(work.case, work.role, work.step, f"{work.milliseconds:.4f}", f"{work.sent:,.0f}")
    return table
