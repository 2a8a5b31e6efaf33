"""Budgets as a table, and a budget that was changed as a sentence."""

from collections.abc import Iterator, Sequence

from ostraka.common.console.cli import write_json
from ostraka.common.console.texts import epsilon_text, number_text
from ostraka.common.privacy.guarantees import NO_GUARANTEE, notion
from ostraka.guardian.admin.plain import plain
from ostraka.guardian.admin.times import day
from ostraka.guardian.admin.unit_texts import left, unit_text
from ostraka.guardian.commands.output import say, tell
from ostraka.protos.ostraka.v1 import admin_pb2

COLUMNS = ("unit", "budget", "delta", "spent", "left", "state")
WIDE = (
    "party",
    "group",
    "adjacency",
    "notion",
    "epsilon",
    "delta",
    "order",
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
    """Write budgets as JSON where it is asked for, and as a table unless stdout has the JSON."""
    columns, row = (WIDE, _wide_row) if wide else (COLUMNS, _row)
    tell({"budgets": budgets}, columns, map(row, budgets), json)
    if budgets and not wide:
        say("Spent and left are worst-case epsilons. --wide adds order, level, agreements.", json)


def say_set(reply: admin_pb2.SetBudgetReply, json: str | None) -> None:
    """Write a budget that was set as JSON where it is asked for, else in one sentence."""
    budget = reply.budget
    level = f", consent level {budget.level}" if budget.level else ""
    _say(f"epsilon {number_text(budget.epsilon)} set, delta {number_text(budget.delta)}{level}", budget, json)


def say_state(reply: admin_pb2.SetBudgetReply, json: str | None) -> None:
    """Write a unit whose state was changed as JSON where it is asked for, else in one sentence."""
    _say(", ".join(_states(reply.budget)), reply.budget, json)


def _say(what: str, budget: admin_pb2.Budget, json: str | None) -> None:
    write_json({"budgets": [plain(budget)]}, json)
    say(f"{unit_text(budget)}: {what}; {_balance(budget)}.", json)


def _balance(budget: admin_pb2.Budget) -> str:
    spent = epsilon_text(budget.epsilon_worst_case)
    return f"spent {spent} of {number_text(budget.epsilon)}, left {_left(budget)} (worst case)"


def _row(budget: admin_pb2.Budget) -> tuple[str, ...]:
    return (
        unit_text(budget),
        number_text(budget.epsilon),
        number_text(budget.delta),
        epsilon_text(budget.epsilon_worst_case),
        _left(budget),
        ", ".join(_states(budget)),
    )


def _left(budget: admin_pb2.Budget) -> str:
    remaining = left(budget)
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
        notion(budget.adjacency),
        number_text(budget.epsilon),
        number_text(budget.delta),
        f"{budget.order:g}",
        budget.enforce,
        epsilon_text(budget.epsilon_worst_case),
        _left(budget),
        budget.state,
        budget.level,
        str(budget.agreements),
        day(budget.broken_unix_s),
        NO_GUARANTEE if budget.unguaranteed else "",
    )
