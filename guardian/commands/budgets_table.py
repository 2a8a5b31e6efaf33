"""Budgets as a table."""

from collections.abc import Sequence

from ostraka.common.guarantees import NOTIONS
from ostraka.guardian.admin.times import day
from ostraka.guardian.commands.output import tell
from ostraka.protos.ostraka.v1 import admin_pb2

COLUMNS = (
    "party",
    "group",
    "adjacency",
    "notion",
    "epsilon",
    "delta",
    "order",
    "enforce",
    "worst-case epsilon",
    "state",
    "level",
    "agreements",
    "broken since",
    "guarantee",
)


def show_budgets(budgets: Sequence[admin_pb2.Budget], json: str | None) -> None:
    """Write budgets as JSON where it is asked for, and as a table unless stdout has the JSON."""
    tell({"budgets": budgets}, COLUMNS, map(_row, budgets), json)


def _row(budget: admin_pb2.Budget) -> tuple[str, ...]:
    return (
        budget.party,
        budget.group,
        budget.adjacency,
        NOTIONS[budget.adjacency],
        f"{budget.epsilon:g}",
        f"{budget.delta:g}",
        f"{budget.order:g}",
        budget.enforce,
        f"{budget.epsilon_worst_case:.4f}",
        budget.state,
        budget.level,
        str(budget.agreements),
        day(budget.broken_unix_s),
        "no formal guarantee" if budget.unguaranteed else "",
    )
