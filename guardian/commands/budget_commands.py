"""`ostraka guardian budget`: what every unit may spend, and what it spent at worst."""

import typer

from ostraka.common.cli import write_json
from ostraka.common.cli_options import model_options
from ostraka.common.guarantees import NOTIONS
from ostraka.guardian.admin.client import admin_call
from ostraka.guardian.admin.plain import plain
from ostraka.guardian.admin.times import minute
from ostraka.guardian.commands.budgets_table import show_budgets
from ostraka.guardian.commands.operation_commands import add_operations
from ostraka.guardian.commands.options import AnyParty, Json, Site
from ostraka.guardian.commands.output import show as show_rows
from ostraka.guardian.operations.unit_operations import UnitFields
from ostraka.protos.ostraka.v1 import admin_pb2

app = typer.Typer(help="Budgets of units.", no_args_is_help=True)


@app.command()
def show(site: Site, party: AnyParty = "", json: Json = None) -> None:
    """Show budgets with their worst-case charges."""
    request = admin_pb2.ListBudgetsRequest(party=party)
    show_budgets(admin_call(site, lambda stub: list(stub.ListBudgets(request))), json)


add_operations(app, "budget", lambda reply, json: show_budgets([reply.budget], json))


@app.command()
@model_options
def history(site: Site, unit: UnitFields, json: Json = None) -> None:
    """Show everything that happened to a unit, oldest first."""
    request = admin_pb2.BudgetHistoryRequest(**dict(unit))
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
    means = NOTIONS[unit.adjacency]
    write_json({"events": [plain(event) for event in events], "notion": means}, json)
    if json != "-":
        show_rows(("time (UTC)", "what", f"epsilon ({means})", "worst-case epsilon spent", "for"), rows)
