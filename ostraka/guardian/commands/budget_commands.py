"""`ostraka guardian budget`: what every unit may spend, and what it spent at worst."""

import typer

from ostraka.common.console.cli import write_json
from ostraka.common.console.options import model_options
from ostraka.common.console.texts import epsilon_text, number_text
from ostraka.common.privacy.guarantees import NOTIONS
from ostraka.guardian.admin.client import admin_call
from ostraka.guardian.admin.pages import rows_of
from ostraka.guardian.admin.plain import plain
from ostraka.guardian.admin.times import minute
from ostraka.guardian.commands.budgets_table import say_set, say_state, show_budgets
from ostraka.guardian.commands.operation_commands import add_operations
from ostraka.guardian.commands.options import AnyParty, Json, Site, Wide
from ostraka.guardian.commands.output import show as show_rows
from ostraka.guardian.operations.unit_operations import UnitFields
from ostraka.protos.ostraka.v1 import admin_pb2

app = typer.Typer(help="Show and change budgets of units.", no_args_is_help=True)


@app.command()
def show(site: Site, party: AnyParty = "", wide: Wide = False, json: Json = None) -> None:
    """Show each unit's budget, spent and left, in the worst case."""
    request = admin_pb2.ListBudgetsRequest(party=party)
    show_budgets(admin_call(site, lambda stub: list(stub.ListBudgets(request))), json, wide=wide)


add_operations(app, "budget", say_state, set=say_set)


@app.command()
@model_options
def history(site: Site, unit: UnitFields, json: Json = None) -> None:
    """Show a unit's events, oldest first."""
    request = admin_pb2.BudgetHistoryRequest(**dict(unit))
    events = admin_call(site, lambda stub: list(rows_of(stub.BudgetHistory(request))))
    rows = [
        (
            minute(e.time_unix_ms),
            e.kind,
            number_text(e.epsilon),
            epsilon_text(e.epsilon_worst_case),
            f"session {e.session_id} batch {e.batch_id}" if e.session_id else e.reason,
        )
        for e in events
    ]
    means = NOTIONS[unit.adjacency]
    write_json({"events": [plain(event) for event in events], "notion": means}, json)
    if json != "-":
        show_rows(("time (UTC)", "what", f"epsilon ({means})", "spent so far, worst case", "for"), rows)
