"""Pages of parties and their spending, one party, the policy, sessions, and data-dependent costs."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from cryptography import x509
from starlette.requests import Request
from starlette.responses import Response

from ostraka.common.clock import Clock
from ostraka.common.console.texts import count_text, epsilon_text, number_text
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity
from ostraka.common.identity.identity import UNREADABLE, identity_of
from ostraka.guardian.admin.client import odd
from ostraka.guardian.admin.confidential import MARK, confidential_row, read_totals
from ostraka.guardian.admin.exports import rows_of
from ostraka.guardian.admin.texts import amount_left, day, unit_text
from ostraka.guardian.dashboard.change_views import result_text
from ostraka.guardian.dashboard.console import console_of, page, policies
from ostraka.guardian.policy import parse_policy
from ostraka.protos.ostraka.v1 import admin_pb2, admin_pb2_grpc, common_pb2

EXPIRY_DAYS = 30
"""Days before the end of a certificate from which a warning is shown."""

LOW = 0.1
"""Fraction of a budget below which a warning is shown."""


def warnings(
    credentials: Credentials,
    head: common_pb2.AuditHead,
    clock: Clock,
    parties: Sequence[admin_pb2.PartyInfo],
    budgets: Sequence[admin_pb2.Budget],
) -> list[str]:
    """Every warning, certificates first: the console's own, and the guardian's, which signed `head`.

    Raises:
        OstrakaError: `message.invalid` for a head without a certificate.
    """
    try:
        guardian = x509.load_der_x509_certificate(head.signed.certificate_der)
        signer = identity_of(guardian)
    except UNREADABLE as error:
        raise odd("sent an audit head without the certificate of who signed it") from error
    return [
        *_expiry(credentials.identity, credentials.expires_unix_s, clock),
        *_expiry(signer, guardian.not_valid_after_utc.timestamp(), clock),
        *_party_warnings(parties, budgets),
        *_budget_warnings(budgets),
    ]


def _expiry(whose: Identity, end: float, clock: Clock) -> Iterator[str]:
    days = int((end - clock.now()) // 86400)
    if days < EXPIRY_DAYS:
        yield (
            f"The certificate of {whose.uri} expires in {count_text(days, 'day')}, on {day(int(end))};"
            " make a new request there with `ostraka site renew` and have the federation's CA sign it."
        )


def _party_warnings(
    parties: Sequence[admin_pb2.PartyInfo], budgets: Sequence[admin_pb2.Budget]
) -> Iterator[str]:
    known = {(budget.party, budget.group) for budget in budgets}
    for info in parties:
        if info.state == "unreconciled":
            yield (
                f"{info.site} has not sent its receipts since the ledger was restored; it votes again "
                "once it has sent them."
            )
        if info.state == "revoked":
            yield (
                f"The certificate that {info.site} registered with was revoked; it votes again once it has"
                " a new one."
            )
        if info.together == "ttac":
            yield (f"{info.site}'s teachers were trained by ttac, so their votes have no formal guarantee.")
        missing = [group.name for group in info.groups if (info.site, group.name) not in known]
        if missing:
            yield (
                f"{info.site} has no budget for {', '.join(missing)}, and a group without a budget is not "
                "asked."
            )


def _budget_warnings(budgets: Sequence[admin_pb2.Budget]) -> Iterator[str]:
    for budget in budgets:
        if budget.broken_unix_s:
            yield (
                f"The budget of {unit_text(budget)} no longer covers its lifetime since"
                f" {day(budget.broken_unix_s)}: it was raised or renewed, or a person has more votes"
                f" than was charged for. Over its lifetime it spent epsilon"
                f" {epsilon_text(budget.epsilon_lifetime)} (worst case)."
            )
        if budget.unguaranteed:
            yield (
                "No epsilon covers everything that was released about "
                f"{unit_text(budget)}, because ttac was part of it."
            )
        remaining = amount_left(budget)
        if remaining is not None and remaining < LOW * budget.epsilon:
            yield (
                f"{unit_text(budget)} has {epsilon_text(remaining)} of its epsilon of"
                f" {number_text(budget.epsilon)} left (worst case)."
            )


# The plot's size in pixels: as wide as the page's column.
WIDTH = 960
# A quarter of the width: low enough to show several units on one screen.
HEIGHT = 240
# The left margin shows the numbers of the epsilon axis.
LEFT = 56
# Half of a time's text would extend beyond a narrower margin.
RIGHT = 16
TOP = 16  # the same as the right margin
# The lower margin shows the times.
BOTTOM = 32
# Parts of the time axis: five times fit side by side.
TIMES = 4
# Largest number of parts of the other axis: each number needs one line.
AMOUNTS = 5

DAY_MS = 86_400_000


@dataclass(frozen=True)
class Tick:
    """A mark on an axis, in pixels, with its text."""

    at: float
    text: str


@dataclass(frozen=True)
class Plot:
    """Worst-case epsilon spent, and the budget's epsilon, as step functions of time.

    Attributes:
        spent: path of the spent epsilon.
        area: the same, closed along the axis.
        budget: path of the budget.
        times: marks of the time axis.
        amounts: marks of the epsilon axis.
    """

    spent: str
    area: str
    budget: str
    times: Sequence[Tick]
    amounts: Sequence[Tick]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def draw(events: Sequence[admin_pb2.BudgetEvent], now_ms: int) -> Plot:
    """Return the plot of a unit's `events`, oldest first, up to now."""
    begin = events[0].time_unix_ms
    # A minute at least, and up to the last event whatever this machine's clock says: a plot needs some width.
    end = max(now_ms, begin + 60_000, events[-1].time_unix_ms)
    largest = max(max(event.epsilon, event.epsilon_worst_case) for event in events)
    step = _step(largest)
    # Rounding must not add an empty part above the largest value.
    parts = max(1, math.ceil(largest / step - 1e-9))

    def x(time_ms: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (time_ms - begin) / (end - begin), 1)

    def y(epsilon: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * epsilon / (step * parts), 1)

    times = [x(event.time_unix_ms) for event in events]
    spent = _steps(times, [y(event.epsilon_worst_case) for event in events], x(end))
    return Plot(
        spent=spent,
        area=f"{spent}V{y(0)}H{times[0]}Z",
        budget=_steps(times, [y(event.epsilon) for event in events], x(end)),
        times=[Tick(x(t), _time(t, end - begin)) for t in _between(begin, end)],
        amounts=[Tick(y(i * step), f"{i * step:g}") for i in range(parts + 1)],
    )


def _steps(times: Sequence[float], values: Sequence[float], end: float) -> str:
    """Return a path that keeps each value until the next time."""
    moves = (f"H{time}V{value}" for time, value in zip(times[1:], values[1:], strict=True))
    return f"M{times[0]} {values[0]}{''.join(moves)}H{end}"


def _step(largest: float) -> float:
    """Return the least of 1, 2, 2.5 and 5 times a power of ten such that `AMOUNTS` steps reach `largest`."""
    least = max(largest, 1e-6) / AMOUNTS
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= least * (1 - 1e-9))


def _between(begin: int, end: int) -> list[float]:
    return [begin + (end - begin) * i / TIMES for i in range(TIMES + 1)]


def _time(time_ms: float, span_ms: int) -> str:
    moment = datetime.fromtimestamp(time_ms / 1000, UTC)
    if span_ms > TIMES * DAY_MS:
        return f"{moment:%Y-%m-%d}"
    return f"{moment:%d %b %H:%M}" if span_ms > DAY_MS else f"{moment:%H:%M:%S}"


EVENTS = 500
"""Number of a unit's newest events on the page; `ostraka guardian budget history` lists all."""


@dataclass(frozen=True)
class PartyUnits:
    """A party with its units."""

    info: admin_pb2.PartyInfo
    budgets: Sequence[admin_pb2.Budget]


@dataclass(frozen=True)
class UnitHistory:
    """A unit with its newest events, their number, and a plot of all events.

    Each event comes with the amount by which it raised the worst-case epsilon spent.
    """

    budget: admin_pb2.Budget
    events: Sequence[tuple[admin_pb2.BudgetEvent, float]]
    count: int
    plot: Plot


def overview(request: Request) -> Response:
    """Show every party with its budgets, and the warnings for an administrator."""
    console = console_of(request)
    parties, budgets, policy, head = console.ask(_read)
    owned: dict[str, list[admin_pb2.Budget]] = {info.site: [] for info in parties}
    unregistered: list[admin_pb2.Budget] = []
    for budget in budgets:
        owned.get(budget.party, unregistered).append(budget)
    standings = [PartyUnits(info, owned[info.site]) for info in parties]
    found = warnings(console.credentials, head, console.clock, parties, budgets)
    return page(
        request,
        "overview.html",
        standings=standings,
        unregistered=unregistered,
        policy=policy,
        warnings=found,
        done=result_text(request),
    )


def party(request: Request) -> Response:
    """One party: its standing, its units, and their history."""
    console = console_of(request)
    site = request.path_params["site"]
    info, budgets = console.ask(lambda stub: _read_party(stub, site))
    now_ms = console.now_ms()
    units = console.ask(lambda stub: [_history(stub, budget, now_ms) for budget in budgets])
    return page(request, "party.html", info=info, units=units, done=result_text(request))


def policy(request: Request) -> Response:
    """Show the policy in force, and the consent level of every unit."""
    console = console_of(request)
    reply, budgets, applied = console.ask(
        lambda stub: (
            stub.ShowPolicy(admin_pb2.ShowPolicyRequest()),
            list(stub.ListBudgets(admin_pb2.ListBudgetsRequest())),
            policies(stub),
        )
    )
    levels = parse_policy(reply.toml).consent
    return page(
        request,
        "policy.html",
        policy=reply,
        levels=levels,
        budgets=budgets,
        applied=applied,
        done=result_text(request),
    )


def _read(
    stub: admin_pb2_grpc.AdminStub,
) -> tuple[
    Sequence[admin_pb2.PartyInfo], Sequence[admin_pb2.Budget], admin_pb2.PolicyReply, common_pb2.AuditHead
]:
    return (
        list(stub.ListParties(admin_pb2.ListPartiesRequest())),
        list(stub.ListBudgets(admin_pb2.ListBudgetsRequest())),
        stub.ShowPolicy(admin_pb2.ShowPolicyRequest()),
        stub.Head(admin_pb2.HeadRequest()),
    )


def _read_party(
    stub: admin_pb2_grpc.AdminStub, site: str
) -> tuple[admin_pb2.PartyInfo, Sequence[admin_pb2.Budget]]:
    found = list(stub.ListParties(admin_pb2.ListPartiesRequest(party=site)))
    if len(found) != 1:
        raise odd(f"lists {len(found)} parties {site}")
    return found[0], list(stub.ListBudgets(admin_pb2.ListBudgetsRequest(party=site)))


def _history(stub: admin_pb2_grpc.AdminStub, budget: admin_pb2.Budget, now_ms: int) -> UnitHistory:
    request = admin_pb2.BudgetHistoryRequest(
        party=budget.party, group=budget.group, adjacency=budget.adjacency
    )
    events = list(rows_of(stub.BudgetHistory(request)))
    if not events:
        raise odd(f"tells nothing of {unit_text(budget)}, which has a budget")
    return UnitHistory(budget, with_charges(events)[-EVENTS:], len(events), draw(events, now_ms))


def with_charges(events: Sequence[admin_pb2.BudgetEvent]) -> list[tuple[admin_pb2.BudgetEvent, float]]:
    """Return events, oldest first, each with the worst-case epsilon that it added."""
    spent = [0.0, *(event.epsilon_worst_case for event in events)]
    return [(event, after - before) for event, before, after in zip(events, spent, spent[1:], strict=False)]


def sessions(request: Request) -> Response:
    """Show every session, the open sessions first, then the newest."""
    listed = console_of(request).ask(lambda stub: list(stub.ListSessions(admin_pb2.ListSessionsRequest())))
    found = sorted(listed, key=lambda s: (s.state != "open", -s.opened_unix_s, s.session_id))
    return page(request, "sessions.html", sessions=found, done=result_text(request))


def session(request: Request) -> Response:
    """One session with its terms and charges."""
    session_id = request.path_params["session_id"]
    asked = admin_pb2.ShowSessionRequest(session_id=session_id)
    spent = admin_pb2.ListChargesRequest(session_id=session_id)
    reply, charges = console_of(request).ask(
        lambda stub: (stub.ShowSession(asked), list(rows_of(stub.ListCharges(spent))))
    )
    return page(
        request,
        "session.html",
        reply=reply,
        session=reply.session,
        charges=charges,
        done=result_text(request),
    )


def confidential(request: Request) -> Response:
    """Show every unit's data-dependent total, marked; refused if the console has no key."""
    console = console_of(request)
    cipher = console.cipher
    if cipher is None:
        raise OstrakaError(
            ErrorCode.POLICY_REFUSED,
            "Data-dependent costs are shown only with the ledger's key; start the console with "
            "--ledger-key FILE.",
        )
    units = console.ask(lambda stub: read_totals(stub, cipher))
    return page(
        request, "confidential.html", mark=MARK, units=[list(confidential_row(unit)) for unit in units]
    )
