"""`ostraka guardian budget`: what every unit may spend, and what it spent at worst."""

from pathlib import Path
from typing import Annotated

import typer

from ostraka.common.cli import write_json
from ostraka.common.guarantees import NOTIONS
from ostraka.guardian.admin.plain import plain
from ostraka.guardian.admin.times import minute
from ostraka.guardian.commands.budgets_table import show_budgets
from ostraka.guardian.commands.files import read_signed
from ostraka.guardian.commands.options import (
    Adjacency,
    AnyParty,
    Group,
    Json,
    MaybeReason,
    Order,
    Party,
    Reason,
    Site,
)
from ostraka.guardian.commands.output import show as show_rows
from ostraka.protos.ostraka.v1 import admin_pb2

app = typer.Typer(help="Budgets of units.", no_args_is_help=True)


@app.command()
def show(site: Site, party: AnyParty = "", json: Json = None) -> None:
    """Show budgets with their worst-case charges."""
    from ostraka.guardian.admin.client import admin_call

    request = admin_pb2.ListBudgetsRequest(party=party)
    show_budgets(admin_call(site, lambda stub: list(stub.ListBudgets(request))), json)


@app.command("set")
def set_(
    site: Site,
    party: Party,
    epsilon: Annotated[float, typer.Option(min=0.0, help="What the unit may spend.")],
    delta: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="0: the unit's own, else the policy's.")
    ] = 0.0,
    group: Group = "all",
    adjacency: Adjacency = "record",
    order: Order = 0,
    reason: MaybeReason = "",
    json: Json = None,
) -> None:
    """Set a unit's budget once, or lower it."""
    from ostraka.guardian.admin.client import admin_call

    request = admin_pb2.SetBudgetRequest(
        party=party,
        group=group,
        adjacency=adjacency,
        epsilon=epsilon,
        delta=delta,
        order=order,
        reason=reason,
    )
    show_budgets([admin_call(site, lambda stub: stub.SetBudget(request)).budget], json)


@app.command()
def grant(
    site: Site,
    agreement: Annotated[
        Path, typer.Option(help="What the party signed: `ostraka party sign-raise` or `sign-consent`.")
    ],
    reason: Reason,
    json: Json = None,
) -> None:
    """Raise a budget, or let a withdrawn group take part again, as its party agreed."""
    from ostraka.guardian.admin.client import admin_call

    request = admin_pb2.GrantBudgetRequest(agreement=read_signed(agreement), reason=reason)
    show_budgets([admin_call(site, lambda stub: stub.GrantBudget(request)).budget], json)


@app.command()
def freeze(
    site: Site,
    party: Party,
    reason: Reason,
    group: Group = "all",
    adjacency: Adjacency = "record",
    json: Json = None,
) -> None:
    """Keep a unit out of sessions, from the next batch on, until it is thawed."""
    _freeze(site, party, group, adjacency, True, reason, json)


@app.command()
def thaw(
    site: Site,
    party: Party,
    reason: Reason,
    group: Group = "all",
    adjacency: Adjacency = "record",
    json: Json = None,
) -> None:
    """Let a frozen unit take part again."""
    _freeze(site, party, group, adjacency, False, reason, json)


@app.command()
def history(
    site: Site, party: Party, group: Group = "all", adjacency: Adjacency = "record", json: Json = None
) -> None:
    """Show everything that happened to a unit, oldest first."""
    from ostraka.guardian.admin.client import admin_call

    request = admin_pb2.BudgetHistoryRequest(party=party, group=group, adjacency=adjacency)
    events = admin_call(site, lambda stub: list(stub.BudgetHistory(request)))
    rows = [
        (
            minute(e.time_unix_ms),
            e.kind,
            f"{e.epsilon:g}",
            f"{e.epsilon_worst_case:.4f}",
            f"session {e.session_id} batch {e.batch_id}" if e.session_id else e.reason,
        )
        for e in events
    ]
    write_json({"events": [plain(event) for event in events], "notion": NOTIONS[adjacency]}, json)
    if json != "-":
        means = NOTIONS[adjacency]
        show_rows(("time (UTC)", "what", f"epsilon ({means})", "worst-case epsilon spent", "for"), rows)


def _freeze(
    site: Path, party: str, group: str, adjacency: str, frozen: bool, reason: str, json: str | None
) -> None:
    from ostraka.guardian.admin.client import admin_call

    request = admin_pb2.FreezeBudgetRequest(
        party=party, group=group, adjacency=adjacency, frozen=frozen, reason=reason
    )
    show_budgets([admin_call(site, lambda stub: stub.FreezeBudget(request)).budget], json)
