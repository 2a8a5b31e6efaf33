"""Status of a party: certificates, teachers, spending, answers, and the guardian's view of it."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ostraka.common.clock import Clock, SystemClock
from ostraka.common.config import load_section, load_site, require_role
from ostraka.common.console.texts import count_text, epsilon_text, number_text
from ostraka.common.errors import OstrakaError
from ostraka.common.identity import Credentials, Identity
from ostraka.common.privacy import budget_rdp, epsilon, propose_order
from ostraka.common.privacy.filters import filter_name, received_order, sent_order
from ostraka.common.privacy.guarantees import plan_notion
from ostraka.common.status import shown
from ostraka.common.status.servers import (
    CertificateStatus,
    Problem,
    Server,
    certificates_of,
    guardians,
    standing,
)
from ostraka.protos.ostraka.v1 import guardian_pb2
from ostraka.services.admission.policy import PartyPolicy
from ostraka.services.journal.view import EpsilonTerms, Journaled, read_journal
from ostraka.services.teachers.config import TEACHERS
from ostraka.services.teachers.manifest import TeachersManifest

DELTA = 1e-5
"""Delta of epsilons if the party has no cap of its own."""


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
    """One of this party's units, as the guardian reports it, in worst-case amounts."""

    group: str
    adjacency: str
    notion: str
    epsilon: float
    delta: float
    order: float
    epsilon_worst_case: float
    epsilon_reserved: float
    state: str

    @property
    def epsilon_left(self) -> float:
        """Return the epsilon of a full budget equal to what is left; 0 if nothing is left.

        If `[training.consent]` contains this value, upsampling's copies suit what is left.
        """
        used = self.epsilon_worst_case + self.epsilon_reserved
        left = budget_rdp(self.epsilon, self.delta, self.order)
        if used > 0:
            left -= budget_rdp(used, self.delta, self.order)
        return epsilon(left, self.order, self.delta) if left > 0 else 0.0


@dataclass(frozen=True)
class PartyStatus:
    """The contents of `ostraka party status`.

    Attributes:
        certificates: this party's own.
        guardians: the guardian's replicas.
        state: this party's state at the guardian; empty if it is unknown.
        units: this party's units at the guardian.
        unknown: why the guardian did not report them, if so.
        hosted: the teachers on disk; None if there are none, see `no_teachers`.
        no_teachers: why there are no teachers, if so.
        terms: order and delta of every epsilon that this party computes.
        epsilon_cap: its own cap; None without one.
        cap_used: spent fraction of the cap (0 to 1); None without one.
        queries_per_day: its own limit; None without one.
        journal: its answers; None before it first served.
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
    """Ask the guardian once, and read the files in `folder`.

    Raises:
        OstrakaError: config.invalid for another role's folder or broken files; ledger.* for the journal.
    """
    clock = clock or SystemClock()
    require_role(folder, "party")
    site = load_site(folder)
    policy = load_section(folder, "policy", PartyPolicy)
    terms = _terms(policy)
    own = Credentials.of(site)
    journal = read_journal(folder / "journal.db", terms, clock)
    replicas = guardians(site, own, clock)
    told = standing(site, own, replicas, clock)
    known = guardian_pb2.StandingReply() if isinstance(told, Problem) else told
    hosted, no_teachers = _teachers_on_disk(folder / TEACHERS)
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
    """Return the status as JSON types."""
    units = [_as_json(unit) for unit in status.units]
    return asdict(status) | {"units": units}


def _as_json(unit: UnitStatus) -> dict[str, Any]:
    told = {"order": sent_order(unit.order), "filter": filter_name(unit.order)}
    return asdict(unit) | told | {"epsilon_left": unit.epsilon_left}


def show(status: PartyStatus, console: Console) -> None:
    """Print the status."""
    console.print(Group(*_parts(status)))


def _terms(policy: PartyPolicy) -> EpsilonTerms:
    if policy.cap is None or policy.delta is None:
        return EpsilonTerms(propose_order(1.0, DELTA), DELTA)
    return EpsilonTerms(policy.cap.order, policy.delta)


def _cap_used(policy: PartyPolicy, journal: Journaled | None) -> float | None:
    if policy.cap is None:
        return None
    return 0.0 if journal is None else journal.spent / policy.cap.amount


def _teachers_on_disk(folder: Path) -> tuple[TeachersStatus | None, Problem | None]:
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
        plan_notion(unit.adjacency, whole_persons=unit.whole_persons),
        unit.epsilon,
        unit.delta,
        received_order(unit.order),
        unit.epsilon_worst_case,
        unit.epsilon_reserved,
        unit.state,
    )


def _parts(status: PartyStatus) -> Iterable[RenderableType]:
    yield from shown.certificates(status.certificates)
    yield _teachers(status)
    yield shown.servers("Guardian", status.guardians)
    if status.unknown is not None:
        yield Text(f"The state of this party's budgets is unknown: {status.unknown}", style="yellow")
    else:
        yield Text(f"The guardian lists this party as {status.state or 'unknown: it has not registered'}.")
        yield _units(status.units)
    yield from _spending(status)


def _teachers(status: PartyStatus) -> RenderableType:
    if status.hosted is None:
        return Text(str(status.no_teachers), style="yellow")
    found = status.hosted
    groups = ", ".join("{name}: {records} records".format(**group) for group in found.groups)
    teachers = count_text(found.teachers, "teacher")
    who = f"{teachers} ({found.training}) of" if found.teachers else "No teachers:"
    return Text(f"{who} {found.records} records ({groups}).")


def _units(units: Sequence[UnitStatus]) -> RenderableType:
    """Return a table of budgets; the guardian reports amounts to a party in whole hundredths of them."""
    table = Table("group", "budget", "delta", "spent", "reserved", "state", title="Budgets, worst case")
    table.caption = "Spent and reserved are shown in hundredths of the budget, rounded up." if units else None
    for unit in units:
        table.add_row(
            f"{unit.group} ({unit.notion})",
            number_text(unit.epsilon),
            number_text(unit.delta),
            f"{epsilon_text(unit.epsilon_worst_case)} of {number_text(unit.epsilon)}",
            epsilon_text(unit.epsilon_reserved),
            unit.state,
        )
    return table


def _spending(status: PartyStatus) -> Iterable[RenderableType]:
    journal = status.journal
    if journal is None:
        yield Text("This party has answered nothing yet.")
        return
    yield Text(f"{count_text(journal.batches, 'batch', 'batches')} answered.{_own_bound(status, journal)}")
    if status.cap_used is not None:
        cap = f"of the own cap of epsilon {status.epsilon_cap:g} are used, every query counted as answered"
        yield _bar("Own cap", f"{status.cap_used:.1%} {cap}", status.cap_used, 1.0)
    for querier, asked in journal.asked_in_day.items():
        limit = status.queries_per_day
        of = "" if limit is None else f"{asked} of "
        told = f"{of}{count_text(asked if limit is None else limit, 'query', 'queries')} in 24 hours"
        yield _bar(querier, told, asked, limit or asked)
    yield _batches(journal)
    if journal.head is not None:
        yield Text(f"Audit head kept: {journal.head[0]} of epoch {journal.epoch}, {journal.head[1]}.")


def _own_bound(status: PartyStatus, journal: Journaled) -> str:
    """Return the party's own bound on its spending, unless the guardian reports a better one.

    A party does not know which queries were answered, so it counts them all.
    """
    if status.unknown is None and status.units:
        return ""
    return (
        " By this party's own count, with every query counted as answered, they cost at "
        f"most epsilon {epsilon_text(journal.epsilon_worst_case)} at delta "
        f"{number_text(status.terms.delta)}."
    )


def _bar(name: str, told: str, part: float, whole: float) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_row(Text(name), shown.bar(part, whole), Text(told))
    return grid


def _batches(journal: Journaled) -> RenderableType:
    table = Table("answered", "session", "batch", "querying party", "queries", title="Newest batches")
    for batch in journal.newest:
        when = shown.moment(batch.answered_unix_s)
        querier = Identity.parse(batch.querier).site if batch.querier else ""
        table.add_row(when, batch.session_id, str(batch.batch_id), querier, str(batch.queries))
    return table
