"""The data-protection report: budgets and charges with the sources of its figures, and its HTML page."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from ostraka.common.console.texts import count_text
from ostraka.common.page import templates
from ostraka.common.privacy import InputError, budget_rdp, epsilon
from ostraka.common.privacy.filters import filter_text, received_order
from ostraka.guardian.admin.client import odd
from ostraka.guardian.admin.exports import rows_of
from ostraka.guardian.admin.texts import amount_left_text, day, minute, spending_text, unit_text
from ostraka.protos.ostraka.v1 import admin_pb2, admin_pb2_grpc, common_pb2

UnitName: TypeAlias = tuple[str, str, str]
BREAKS = frozenset({"raised", "recosted", "renewed"})
"""Events after which a budget no longer covers its unit's lifetime."""


@dataclass(frozen=True)
class SessionCharge:
    """What one session cost one unit in the worst case.

    Attributes:
        unit: party, group and adjacency.
        session_id: the session; its `querier`, `enforce`, `bound`, `tally`, `mechanism` are as granted.
        batches: number of its charged batches, from `first_unix_ms` to `last_unix_ms`.
        epsilon: worst-case epsilon of these batches alone.
        epsilon_after: worst-case epsilon of all the unit's charges up to the last of these batches.
        unguaranteed: whether it made a release that no epsilon covers (ttac).
    """

    unit: UnitName
    session_id: str
    querier: str
    enforce: str
    bound: str
    tally: str
    mechanism: str
    batches: int
    first_unix_ms: int
    last_unix_ms: int
    epsilon: float
    epsilon_after: float
    unguaranteed: bool


@dataclass(frozen=True)
class Break:
    """An event after which a unit's budget no longer covers its lifetime."""

    unit: UnitName
    event: admin_pb2.BudgetEvent


@dataclass(frozen=True)
class ChargeReport:
    """Everything on the page; times are unix milliseconds, `to_unix_ms` is exclusive, zero means open.

    `unguaranteed` lists all units and sessions up to `to_unix_ms`, also before `from_unix_ms`, with a release
    that no epsilon covers (ttac), because a unit's budget covers its records' whole spending.
    """

    federation: str
    made_unix_ms: int
    from_unix_ms: int
    to_unix_ms: int
    policy: admin_pb2.PolicyReply
    budgets: Sequence[admin_pb2.Budget]
    breaks: Sequence[Break]
    charges: Sequence[SessionCharge]
    unguaranteed: Sequence[tuple[UnitName, str]]
    head: common_pb2.AuditHead


def read_report(
    stub: admin_pb2_grpc.AdminStub, federation: str, now_unix_ms: int, from_unix_ms: int, to_unix_ms: int
) -> ChargeReport:
    """Read a report from a guardian; its audit head is read last, so it covers everything before."""
    charged = _Charged()
    asked = admin_pb2.ListChargesRequest(from_unix_ms=from_unix_ms, to_unix_ms=to_unix_ms)
    for row in rows_of(stub.ListCharges(asked)):
        charged.add(row)
    budgets = list(stub.ListBudgets(admin_pb2.ListBudgetsRequest()))
    if from_unix_ms:
        for party in sorted({budget.party for budget in budgets if budget.unguaranteed}):
            earlier = admin_pb2.ListChargesRequest(party=party, to_unix_ms=from_unix_ms)
            charged.mark(rows_of(stub.ListCharges(earlier)))
    return ChargeReport(
        federation=federation,
        made_unix_ms=now_unix_ms,
        from_unix_ms=from_unix_ms,
        to_unix_ms=to_unix_ms,
        policy=stub.ShowPolicy(admin_pb2.ShowPolicyRequest()),
        budgets=budgets,
        breaks=[found for budget in budgets if budget.broken_unix_s for found in _breaks(stub, budget)],
        charges=charged.by_session({name_of(budget): budget for budget in budgets}),
        unguaranteed=sorted(charged.unguaranteed),
        head=stub.Head(admin_pb2.HeadRequest()),
    )


def name_of(named: admin_pb2.Budget | admin_pb2.ChargeRow) -> UnitName:
    """Return the unit of a budget or a charge."""
    return named.party, named.group, named.adjacency


class _Charged:
    """Charges added up by unit and session as they are read, in the order of first batches."""

    def __init__(self) -> None:
        self.unguaranteed: set[tuple[UnitName, str]] = set()
        self._sums: dict[tuple[UnitName, str, str], _Sum] = {}

    def add(self, row: admin_pb2.ChargeRow) -> None:
        """Add a charge."""
        key = name_of(row), row.session_id, row.mechanism
        self._sums.setdefault(key, _Sum(row)).add(row)
        self.mark((row,))

    def mark(self, charges: Iterable[admin_pb2.ChargeRow]) -> None:
        """Note which of the charges no epsilon covers."""
        self.unguaranteed |= {(name_of(row), row.session_id) for row in charges if row.unguaranteed}

    def by_session(self, budgets: dict[UnitName, admin_pb2.Budget]) -> list[SessionCharge]:
        """Return the sums; costs of one unit add up at its budget's order.

        Raises:
            OstrakaError: `message.invalid` if the guardian lists no budget of a charged unit, or impossible
                amounts.
        """
        charged = [unit for unit, *_ in (*self._sums, *self.unguaranteed)]
        unlisted = [unit for unit in charged if unit not in budgets]
        if unlisted:
            raise odd(f"charged {'/'.join(unlisted[0])} and lists no budget of it")
        try:
            return [added.charge(budgets[unit]) for (unit, _, _), added in self._sums.items()]
        except InputError as error:
            raise odd(f"lists charges or budgets that nothing has ({error})") from error


class _Sum:
    """The charges of one session to one unit."""

    def __init__(self, first: admin_pb2.ChargeRow) -> None:
        self._first = self._last = first
        self._costs: Counter[float] = Counter()

    def add(self, row: admin_pb2.ChargeRow) -> None:
        self._last = row
        self._costs[row.epsilon] += 1

    def charge(self, budget: admin_pb2.Budget) -> SessionCharge:
        first = self._first
        last = self._last
        order = received_order(budget.order)
        costs = (count * budget_rdp(cost, budget.delta, order) for cost, count in self._costs.items() if cost)
        return SessionCharge(
            unit=name_of(first),
            session_id=first.session_id,
            querier=first.querier,
            enforce=first.enforce,
            bound=first.bound,
            tally=first.tally,
            mechanism=first.mechanism,
            batches=self._costs.total(),
            first_unix_ms=first.time_unix_ms,
            last_unix_ms=last.time_unix_ms,
            epsilon=epsilon(sum(costs), order, budget.delta),
            epsilon_after=last.epsilon_worst_case,
            unguaranteed=first.unguaranteed,
        )


def _breaks(stub: admin_pb2_grpc.AdminStub, budget: admin_pb2.Budget) -> Iterable[Break]:
    request = admin_pb2.BudgetHistoryRequest(
        party=budget.party, group=budget.group, adjacency=budget.adjacency
    )
    for event in rows_of(stub.BudgetHistory(request)):
        if event.kind in BREAKS:
            yield Break(name_of(budget), event)


TEMPLATE = Path(__file__).with_name("page.html")


def render(report: ChargeReport) -> str:
    """Return the page; outside text is escaped."""
    names = {name_of(budget): unit_text(budget) for budget in report.budgets}
    return templates.render(
        TEMPLATE,
        federation=report.federation,
        made=minute(report.made_unix_ms),
        span=_span(report),
        summary=_summary(report),
        unguaranteed_units=", ".join(sorted({names[unit] for unit, _ in report.unguaranteed})),
        unguaranteed_sessions=", ".join(sorted({session for _, session in report.unguaranteed})),
        policy_source=policy_source(report.policy),
        policy=report.policy.toml,
        budgets=map(budget_cells, report.budgets),
        breaks=_break_rows(report, names),
        charges=[(names[charge.unit], *_charge(charge)) for charge in report.charges],
        sequence=report.head.sequence,
        hash=report.head.hash.hex(),
    )


def _span(report: ChargeReport) -> str:
    first = f"from {minute(report.from_unix_ms)}" if report.from_unix_ms else "from the beginning"
    return f"{first} until {minute(report.to_unix_ms or report.made_unix_ms)} UTC"


def _summary(report: ChargeReport) -> str:
    sessions = {charge.session_id for charge in report.charges}
    queriers = {charge.querier for charge in report.charges if charge.querier}
    parties = {budget.party for budget in report.budgets}
    broken = sum(1 for budget in report.budgets if budget.broken_unix_s)
    return (
        f"Units with a budget: {len(report.budgets)}, of {count_text(len(parties), 'party', 'parties')}."
        f" Sessions that were charged to them in this time: {len(sessions)}, of"
        f" {count_text(len(queriers), 'querying party', 'querying parties')}. The lifetime guarantee of"
        f" {count_text(broken, 'unit')} is broken."
    )


def policy_source(policy: admin_pb2.PolicyReply) -> str:
    """Say where the policy in force comes from, and what it allows."""
    if policy.version:
        return f"Policy {policy.version}, as an administrator applied it. {policy.allows}".rstrip()
    return f"The policy of the guardian's site.toml; none was applied. {policy.allows}".rstrip()


def budget_cells(budget: admin_pb2.Budget) -> Iterable[str]:
    """Yield a report's cells of a budget: its unit and level, the limit, the spending and the rest."""
    yield unit_text(budget)
    yield budget.level or "none"
    yield f"{budget.epsilon:g}"
    yield f"{budget.delta:g}"
    yield filter_text(budget.order)
    yield budget.enforce
    yield spending_text(budget.epsilon_worst_case)
    yield amount_left_text(budget)
    yield spending_text(budget.epsilon_lifetime)
    yield budget.state
    yield f"broken since {day(budget.broken_unix_s)}" if budget.broken_unix_s else "holds"


def _break_rows(report: ChargeReport, names: Mapping[UnitName, str]) -> Iterable[Iterable[str]]:
    for found in report.breaks:
        event = found.event
        yield (
            names[found.unit],
            minute(event.time_unix_ms),
            f"{event.kind}, epsilon {event.epsilon:g} from then on",
            event.reason or "the policy's renewal",
        )
    if not report.breaks:
        yield "none", "", "", ""


def _charge(charge: SessionCharge) -> Iterable[str]:
    yield charge.session_id
    yield charge.querier or "not known any more"
    yield f"{charge.mechanism}; no formal guarantee" if charge.unguaranteed else charge.mechanism
    yield charge.enforce or "not known any more"
    yield charge.bound
    yield charge.tally or "not known any more"
    yield f"{charge.batches}"
    yield f"{minute(charge.first_unix_ms)} to {minute(charge.last_unix_ms)}"
    yield spending_text(charge.epsilon)
    yield spending_text(charge.epsilon_after)
