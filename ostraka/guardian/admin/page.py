"""The report as one HTML page that prints, runs no script and loads nothing."""

from collections.abc import Iterable
from pathlib import Path

from ostraka.common.page import templates
from ostraka.common.privacy.guarantees import notion
from ostraka.guardian.admin.report import ChargeReport, SessionCharge, UnitName
from ostraka.guardian.admin.texts import day, left_text, minute
from ostraka.protos.ostraka.v1 import admin_pb2

TEMPLATE = Path(__file__).with_name("page.html")


def render(report: ChargeReport) -> str:
    """Return the page; whatever comes from outside is escaped."""
    return templates.render(
        TEMPLATE,
        federation=report.federation,
        made=minute(report.made_unix_ms),
        span=_span(report),
        summary=_summary(report),
        unguaranteed_units=", ".join(sorted({_name(unit) for unit, _ in report.unguaranteed})),
        unguaranteed_sessions=", ".join(sorted({session for _, session in report.unguaranteed})),
        policy_source=_policy_source(report.policy),
        policy=report.policy.toml,
        budgets=map(_budget, report.budgets),
        breaks=_breaks(report),
        charges=map(_charge, report.charges),
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
        f"{len(report.budgets)} units of {len(parties)} parties have a budget. In this time {len(sessions)}"
        f" sessions of {len(queriers)} querying parties were charged to them. The lifetime guarantee of"
        f" {broken} units is broken."
    )


def _policy_source(policy: admin_pb2.PolicyReply) -> str:
    if policy.version:
        return f"Policy {policy.version}, as an administrator applied it."
    return "The policy of the guardian's site.toml; none was applied."


def _budget(budget: admin_pb2.Budget) -> Iterable[str]:
    yield _name((budget.party, budget.group, budget.adjacency))
    yield budget.level or "none"
    yield f"{budget.epsilon:g}"
    yield f"{budget.delta:g}"
    yield f"{budget.order:g}"
    yield budget.enforce
    yield f"{budget.epsilon_worst_case:.4f}"
    yield left_text(budget)
    yield f"{budget.epsilon_lifetime:.4f}"
    yield budget.state
    yield f"broken since {day(budget.broken_unix_s)}" if budget.broken_unix_s else "holds"


def _breaks(report: ChargeReport) -> Iterable[Iterable[str]]:
    for found in report.breaks:
        event = found.event
        yield (
            _name(found.unit),
            minute(event.time_unix_ms),
            f"{event.kind}, epsilon {event.epsilon:g} from then on",
            event.reason or "the policy's renewal",
        )
    if not report.breaks:
        yield "none", "", "", ""


def _charge(charge: SessionCharge) -> Iterable[str]:
    yield _name(charge.unit)
    yield charge.session_id
    yield charge.querier or "not known any more"
    yield f"{charge.mechanism}; no formal guarantee" if charge.unguaranteed else charge.mechanism
    yield charge.enforce or "not known any more"
    yield charge.bound
    yield charge.tally or "not known any more"
    yield f"{charge.batches}"
    yield f"{minute(charge.first_unix_ms)} to {minute(charge.last_unix_ms)}"
    yield f"{charge.epsilon:.4f}"
    yield f"{charge.epsilon_after:.4f}"


def _name(unit: UnitName) -> str:
    party, group, adjacency = unit
    return f"{party}/{group} ({notion(adjacency)})"
