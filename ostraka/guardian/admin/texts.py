"""Units and times as text: names, the rest of a budget, days and minutes in UTC."""

import math
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

from ostraka.common.console.texts import count_text
from ostraka.common.privacy.guarantees import plan_notion
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2

DECIMALS = Decimal("0.0001")
"""The places of the epsilons in reports."""
EXACT = Context(prec=400)
"""Digits enough for any float and these places."""
LABELS = ("label", "")
"""How guardians report that they release labels; earlier versions send nothing."""


def unit_text(named: Any) -> str:
    """Return the name of a unit, of its budget or its charge, and what its epsilons protect."""
    return f"{named.party}/{named.group} ({budget_notion(named)})"


def budget_notion(named: Any) -> str:
    """Return what the epsilons of a unit protect: persons if its budget says so."""
    return plan_notion(named.adjacency, whole_persons=getattr(named, "whole_persons", False))


def records_text(group: common_pb2.Group) -> str:
    """Return the number of a group's records, and how many its sums are over if these are fewer."""
    return f"{group.records}, {group.summed_records} in sums" if group.summed_records else str(group.records)


def release_text(answered: int, asked: int, released: str) -> str:
    """Return how much a session released, of what was asked; earlier guardians do not say what."""
    if released in LABELS:
        return f"{answered} of {count_text(asked, 'query', 'queries')} answered"
    return f"{answered} of {asked} released, each a {released}"


def event_text(event: admin_pb2.BudgetEvent) -> str:
    """Return the cause of an event of a unit: its batch and what that released, or its reason."""
    if not event.session_id:
        return event.reason
    what = "" if event.released in LABELS else f", a {event.released}"
    return f"session {event.session_id} batch {event.batch_id}{what}"


def amount_left(budget: admin_pb2.Budget) -> float | None:
    """Return the rest of a budget in the worst case; None if it depends on votes."""
    if budget.enforce != "worst_case":
        return None
    return max(0.0, budget.epsilon - budget.epsilon_worst_case - budget.epsilon_reserved)


def amount_left_text(budget: admin_pb2.Budget) -> str:
    """Return the same as text, rounded down: no more is left than this says."""
    amount = amount_left(budget)
    return "depends on votes, not shown" if amount is None else _round(amount, ROUND_FLOOR)


def spending_text(epsilon: float) -> str:
    """Return a spent epsilon as text, rounded up: it stays a bound, and a small charge is not 0.0000."""
    return _round(epsilon, ROUND_CEILING)


def _round(epsilon: float, rounding: str) -> str:
    if math.isinf(epsilon):
        return str(epsilon)
    return f"{Decimal(epsilon).quantize(DECIMALS, rounding, EXACT):f}"


def day(unix_s: int) -> str:
    """Return a date; empty for zero."""
    return f"{datetime.fromtimestamp(unix_s, UTC):%Y-%m-%d}" if unix_s else ""


def minute(unix_ms: int) -> str:
    """Return a time to the minute."""
    return f"{datetime.fromtimestamp(unix_ms / 1000, UTC):%Y-%m-%d %H:%M}"


def span(first: date | None, last: date | None) -> tuple[int, int]:
    """Return two days as unix milliseconds, with an exclusive end; 0 means open."""
    return _unix_ms(first), _unix_ms(last and last + timedelta(days=1))


def _unix_ms(day: date | None) -> int:
    return 0 if day is None else int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)
