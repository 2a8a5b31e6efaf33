"""Where a party stands: certificates, teachers, what it spent and answered, what the guardian says of it."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ostraka.common.clock import Clock, SystemClock
from ostraka.common.config import load_section, load_site
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.guarantees import NOTIONS
from ostraka.common.identity import Credentials
from ostraka.common.privacy import propose_order
from ostraka.common.status import shown
from ostraka.common.status.certificate_status import CertificateStatus, certificates_of
from ostraka.common.status.problem import Problem
from ostraka.common.status.servers import Server, guardians, standing
from ostraka.protos.ostraka.v1 import guardian_pb2
from ostraka.services.journal_view import EpsilonTerms, Journaled, read_journal
from ostraka.services.policy import PartyPolicy
from ostraka.services.teachers.config import TEACHERS
from ostraka.services.teachers.manifest import TeachersManifest

DELTA = 1e-5
"""Delta of epsilons where the party has no cap of its own."""


@dataclass(frozen=True)
class TeachersStatus:
    """The teachers on disk."""

    teachers: int
    records: int
    model: str
    training: str
    groups: Sequence[dict[str, Any]]


@dataclass(frozen=True)
class UnitStatus:
    """One of this party's units as the guardian tells it, in worst-case amounts."""

    group: str
    adjacency: str
    notion: str
    epsilon: float
    delta: float
    order: float
    epsilon_worst_case: float
    epsilon_reserved: float
    state: str


@dataclass(frozen=True)
class PartyStatus:
    """What `ostraka party status` tells.

    Attributes:
        certificates: this party's own.
        guardians: the guardian's replicas.
        state: this party's, as the guardian has it; empty where it is unknown.
        units: this party's, as the guardian has them.
        unknown: why the guardian says nothing of them, if so.
        hosted: the teachers on disk; None where there are none, which `no_teachers` explains.
        terms: order and delta of every epsilon that this party tells of itself.
        epsilon_cap: its own cap, `cap_used` how much of it is spent (0 to 1); None without one.
        queries_per_day: its own limit; None without one.
        journal: what it answered; None before it first served.
    """

    certificates: CertificateStatus
    guardians: Sequence[Server]
    state: str
    units: Sequence[UnitStatus]
    unknown: Problem | None
    hosted: TeachersStatus | None
    no_teachers: Problem | None
    terms: EpsilonTerms
    epsilon_cap: float | None
    cap_used: float | None
    queries_per_day: int | None
    journal: Journaled | None


def party_status(folder: Path, *, clock: Clock | None = None) -> PartyStatus:
    """Ask the guardian once, and read what lies in `folder`.

    Raises:
        OstrakaError: config.invalid for another role's folder or broken files; ledger.* for the journal.
    """
    clock, site = clock or SystemClock(), load_site(folder)
    if site.role != "party":
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"{folder} acts as {site.role}: name the folder of a party."
        )
    policy = load_section(folder, "policy", PartyPolicy)
    terms, own = _terms(policy), Credentials.of(site)
    journal = read_journal(folder / "journal.db", terms, clock)
    replicas = guardians(site, own, clock)
    told = standing(site, own, replicas, clock)
    known = guardian_pb2.StandingReply() if isinstance(told, Problem) else told
    hosted, no_teachers = _hosted(folder / TEACHERS)
    return PartyStatus(
        certificates_of(own, clock),
        replicas,
        known.state,
        [_unit(unit) for unit in known.units],
        told if isinstance(told, Problem) else None,
        hosted,
        no_teachers,
        terms,
        policy.epsilon_cap,
        _cap_used(policy, journal),
        policy.queries_per_day,
        journal,
    )


def as_json(status: PartyStatus) -> dict[str, Any]:
    """Return the status in JSON's types."""
    return asdict(status)


def show(status: PartyStatus, console: Console) -> None:
    """Print it."""
    console.print(Group(*_parts(status)))


def _terms(policy: PartyPolicy) -> EpsilonTerms:
    if policy.cap is None or policy.delta is None:
        return EpsilonTerms(propose_order(1.0, DELTA), DELTA)
    return EpsilonTerms(policy.cap.order, policy.delta)


def _cap_used(policy: PartyPolicy, journal: Journaled | None) -> float | None:
    if policy.cap is None:
        return None
    return 0.0 if journal is None else journal.spent / policy.cap.amount


def _hosted(folder: Path) -> tuple[TeachersStatus | None, Problem | None]:
    try:
        found = TeachersManifest.load(folder)
    except OstrakaError as error:
        return None, Problem.of(error)
    groups = [group.model_dump() for group in found.groups]
    return TeachersStatus(found.teachers, found.records, found.model, found.training, groups), None


def _unit(unit: guardian_pb2.UnitStanding) -> UnitStatus:
    return UnitStatus(
        unit.group,
        unit.adjacency,
        NOTIONS[unit.adjacency],
        unit.epsilon,
        unit.delta,
        unit.order,
        unit.epsilon_worst_case,
        unit.epsilon_reserved,
        unit.state,
    )


def _parts(status: PartyStatus) -> Iterable[RenderableType]:
    yield from shown.certificates(status.certificates)
    yield _teachers(status)
    yield shown.servers("Guardian", status.guardians)
    if status.unknown is not None:
        yield Text(f"Nothing is known of this party's budgets: {status.unknown}", style="yellow")
    else:
        yield Text(f"The guardian has this party as {status.state or 'unknown: it has not registered'}.")
        yield _units(status.units)
    yield from _spending(status)


def _teachers(status: PartyStatus) -> RenderableType:
    if status.hosted is None:
        return Text(str(status.no_teachers), style="yellow")
    found = status.hosted
    groups = ", ".join("{name}: {records} records".format(**group) for group in found.groups)
    return Text(f"{found.teachers} teachers ({found.training}) of {found.records} records ({groups}).")


def _units(units: Sequence[UnitStatus]) -> RenderableType:
    table = Table("group", "notion", "epsilon", "delta", "spent", "reserved", "", "state", title="Budgets")
    for unit in units:
        used = unit.epsilon_worst_case + unit.epsilon_reserved
        table.add_row(
            unit.group,
            unit.notion,
            f"{unit.epsilon:g}",
            f"{unit.delta:g}",
            f"{unit.epsilon_worst_case:.3g}",
            f"{unit.epsilon_reserved:.3g}",
            shown.bar(used, unit.epsilon),
            unit.state,
        )
    return table


def _spending(status: PartyStatus) -> Iterable[RenderableType]:
    journal = status.journal
    if journal is None:
        yield Text("This party has answered nothing yet.")
        return
    told = f"{journal.batches} batches answered, worst-case epsilon {journal.epsilon_worst_case:.3g}"
    yield Text(
        f"{told} at order {status.terms.order:g} and delta {status.terms.delta:g} if all were answered."
    )
    if status.cap_used is not None:
        yield _bar(
            "Own cap", f"{status.cap_used:.1%} of epsilon {status.epsilon_cap:g}", status.cap_used, 1.0
        )
    for querier, asked in journal.asked_in_day.items():
        limit = status.queries_per_day
        told = f"{asked} queries in 24 hours" if limit is None else f"{asked} of {limit} queries in 24 hours"
        yield _bar(querier, told, asked, limit or asked)
    yield _batches(journal)
    if journal.head is not None:
        yield Text(f"Audit head kept: {journal.head[0]} of epoch {journal.epoch}, {journal.head[1]}.")


def _bar(name: str, told: str, part: float, whole: float) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_row(Text(name), shown.bar(part, whole), Text(told))
    return grid


def _batches(journal: Journaled) -> RenderableType:
    table = Table("answered", "session", "batch", "querying party", "queries", "worst-case epsilon alone")
    table.title = "Newest batches"
    for batch in journal.newest:
        cost = f"{batch.epsilon_worst_case:.3g}"
        when = shown.moment(batch.answered_unix_s)
        table.add_row(when, batch.session_id, str(batch.batch_id), batch.querier, str(batch.queries), cost)
    return table
