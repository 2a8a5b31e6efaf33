"""`ostraka guardian budget`, `consent` and `publish-epsilon`: what every unit may spend and has spent."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ostraka.common.console.cli import write_json
from ostraka.common.console.commands import CommandGroup
from ostraka.common.console.options import model_options
from ostraka.common.console.texts import count_text, epsilon_text, number_text
from ostraka.common.privacy.filters import filter_text
from ostraka.common.privacy.guarantees import NO_GUARANTEE
from ostraka.guardian.admin.client import admin_call
from ostraka.guardian.admin.exports import plain, rows_of
from ostraka.guardian.admin.texts import (
    amount_left,
    budget_notion,
    day,
    event_text,
    minute,
    spending_text,
    unit_text,
)
from ostraka.guardian.commands.operation_commands import add_operations, command_of
from ostraka.guardian.commands.options_and_output import AnyParty, Json, Site, Wide, say, tell
from ostraka.guardian.commands.options_and_output import show as show_rows
from ostraka.guardian.operations.unit_operations import PublishEpsilon, UnitFields
from ostraka.protos.ostraka.v1 import admin_pb2

if TYPE_CHECKING:
    from ostraka.protos.ostraka.v1 import admin_pb2_grpc

COLUMNS = ("unit", "budget", "delta", "spent", "left", "state")
WIDE = (
    "party",
    "group",
    "adjacency",
    "notion",
    "epsilon",
    "delta",
    "filter",
    "enforce",
    "worst-case epsilon",
    "left",
    "state",
    "level",
    "agreements",
    "broken since",
    "guarantee",
)


def show_budgets(budgets: Sequence[admin_pb2.Budget], json: str | None, *, wide: bool = False) -> None:
    """Write budgets as JSON if requested, and as a table unless stdout carries the JSON."""
    columns, row = (WIDE, _wide_row) if wide else (COLUMNS, _row)
    tell({"budgets": budgets}, columns, map(row, budgets), json)
    if budgets and not wide:
        say("Spent and left are worst-case epsilons. --wide adds filter, level, agreements.", json)


def say_set(reply: admin_pb2.SetBudgetReply, json: str | None) -> None:
    """Write a budget that was set as JSON if requested, else in one sentence."""
    budget = reply.budget
    level = f", consent level {budget.level}" if budget.level else ""
    _say(f"epsilon {number_text(budget.epsilon)} set, delta {number_text(budget.delta)}{level}", budget, json)


def say_state(reply: admin_pb2.SetBudgetReply, json: str | None) -> None:
    """Write a unit whose state was changed as JSON if requested, else in one sentence."""
    _say(", ".join(_states(reply.budget)), reply.budget, json)


def _say(what: str, budget: admin_pb2.Budget, json: str | None) -> None:
    write_json({"budgets": [plain(budget)]}, json)
    say(f"{unit_text(budget)}: {what}; {_balance(budget)}.", json)


def _balance(budget: admin_pb2.Budget) -> str:
    spent = epsilon_text(budget.epsilon_worst_case)
    return f"spent {spent} of {number_text(budget.epsilon)}, left {_amount_left(budget)} (worst case)"


def _row(budget: admin_pb2.Budget) -> tuple[str, ...]:
    return (
        unit_text(budget),
        number_text(budget.epsilon),
        number_text(budget.delta),
        epsilon_text(budget.epsilon_worst_case),
        _amount_left(budget),
        ", ".join(_states(budget)),
    )


def _amount_left(budget: admin_pb2.Budget) -> str:
    remaining = amount_left(budget)
    return "depends on votes" if remaining is None else epsilon_text(remaining)


def _states(budget: admin_pb2.Budget) -> Iterator[str]:
    yield budget.state
    if budget.broken_unix_s:
        yield f"lifetime broken {day(budget.broken_unix_s)}"
    if budget.unguaranteed:
        yield NO_GUARANTEE


def _wide_row(budget: admin_pb2.Budget) -> tuple[str, ...]:
    return (
        budget.party,
        budget.group,
        budget.adjacency,
        budget_notion(budget),
        number_text(budget.epsilon),
        number_text(budget.delta),
        filter_text(budget.order),
        budget.enforce,
        epsilon_text(budget.epsilon_worst_case),
        _amount_left(budget),
        budget.state,
        budget.level,
        str(budget.agreements),
        day(budget.broken_unix_s),
        NO_GUARANTEE if budget.unguaranteed else "",
    )


app = CommandGroup("Show and change budgets of units.")


@app.command()
def show(site: Site, party: AnyParty = "", wide: Wide = False, json: Json = None) -> None:
    """Show each unit's budget, and what is spent and left of it in the worst case."""
    request = admin_pb2.ListBudgetsRequest(party=party)
    show_budgets(admin_call(site, lambda stub: list(stub.ListBudgets(request))), json, wide=wide)


add_operations(app, "budget", say_state, set=say_set)


@app.command()
@model_options
def history(site: Site, unit: UnitFields, json: Json = None) -> None:
    """Show a unit's events, oldest first."""
    events, means = admin_call(site, lambda stub: _ask_history(stub, unit))
    rows = [
        (
            minute(e.time_unix_ms),
            e.kind,
            number_text(e.epsilon),
            epsilon_text(e.epsilon_worst_case),
            event_text(e),
        )
        for e in events
    ]
    write_json({"events": [plain(event) for event in events], "notion": means}, json)
    if json != "-":
        show_rows(("time (UTC)", "what", f"epsilon ({means})", "spent so far, worst case", "for"), rows)


def _ask_history(
    stub: "admin_pb2_grpc.AdminStub", unit: UnitFields
) -> tuple[list[admin_pb2.BudgetEvent], str]:
    """Return a unit's events, and what its epsilons protect."""
    events = list(rows_of(stub.BudgetHistory(admin_pb2.BudgetHistoryRequest(**dict(unit)))))
    budgets = stub.ListBudgets(admin_pb2.ListBudgetsRequest(party=unit.party))
    named = (unit.group, unit.adjacency)
    means = next((budget_notion(b) for b in budgets if (b.group, b.adjacency) == named), budget_notion(unit))
    return events, means


def _tell_published(reply: admin_pb2.PublishEpsilonReply, json: str | None) -> None:
    """Write what was published, for whom, and its cost; the JSON also contains the signed statement."""
    write_json(plain(reply), json)
    found = reply.published
    own = ", ".join(f"{unit.party}/{unit.group} ({unit.adjacency})" for unit in found.units if unit.own)
    paid = ", ".join(f"{unit.party}/{unit.group} {spending_text(unit.rdp)}" for unit in found.units)
    charged = "Published before; nothing was charged now" if reply.again else f"Charged, in rdp: {paid}"
    batches = count_text(found.batches, "batch", "batches")
    say(
        f"{own}: epsilon {spending_text(found.epsilon)} at delta {found.delta:g} (theorem6, one direction,"
        f" with noise; {spending_text(found.epsilon_worst_case)} at worst), over {batches}. {charged}.",
        json,
    )


publish_epsilon = command_of(PublishEpsilon, _tell_published)

consent_app = CommandGroup("Set or withdraw the consent of a group of records.")
add_operations(consent_app, "consent", say_state, set=say_set)
