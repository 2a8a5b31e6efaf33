"""Parties and what they have spent, one party, and the policy."""

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from ostraka.guardian.admin.odd_answer import odd
from ostraka.guardian.admin.pages import rows_of
from ostraka.guardian.admin.unit_texts import unit_text
from ostraka.guardian.dashboard.console import console_of, page
from ostraka.guardian.dashboard.forms import done
from ostraka.guardian.dashboard.log import policies
from ostraka.guardian.dashboard.spending_plot import Plot, draw
from ostraka.guardian.dashboard.warnings import warnings
from ostraka.guardian.policy import parse_policy
from ostraka.protos.ostraka.v1 import admin_pb2, admin_pb2_grpc, common_pb2

EVENTS = 500
"""Events of a unit that are listed, the newest ones; `ostraka guardian budget history` has all."""


@dataclass(frozen=True)
class PartyUnits:
    """A party with its units."""

    info: admin_pb2.PartyInfo
    budgets: Sequence[admin_pb2.Budget]


@dataclass(frozen=True)
class UnitHistory:
    """A unit with the newest of what happened to it, how much that was, and a plot of all of it."""

    budget: admin_pb2.Budget
    events: Sequence[admin_pb2.BudgetEvent]
    count: int
    plot: Plot


def overview(request: Request) -> Response:
    """Every party with its budgets, and what somebody should look at."""
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
        done=done(request),
    )


def party(request: Request) -> Response:
    """One party: its standing, its units, and their history."""
    console, site = console_of(request), request.path_params["site"]
    info, budgets = console.ask(lambda stub: _read_party(stub, site))
    now_ms = console.now_ms()
    units = console.ask(lambda stub: [_history(stub, budget, now_ms) for budget in budgets])
    return page(request, "party.html", info=info, units=units, done=done(request))


def policy(request: Request) -> Response:
    """Show the policy in force, and which consent level every unit has."""
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
        done=done(request),
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
    return UnitHistory(budget, events[-EVENTS:], len(events), draw(events, now_ms))
