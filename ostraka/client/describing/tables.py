"""Printed view of statistics."""

import datetime
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.text import Text

from ostraka.client.fitting.tables import cost_rows
from ostraka.common.console.screen import table_of
from ostraka.common.console.texts import list_words


def show_plan(figures: Mapping[str, Any], console: Console) -> None:
    """Print what statistics cost every party, and their noise."""
    costs = table_of(*cost_rows(figures["costs"]), "Worst case")
    told = Text(
        f"Every count will have noise of standard deviation {figures['sigma']:.3g}; parties declare "
        f"{figures['declared_records']:,} records."
    )
    console.print(Group(costs, told), soft_wrap=True)


def show(figures: Mapping[str, Any], console: Console) -> None:
    """Print the counts."""
    console.print(Group(*_parts(figures)), soft_wrap=True)


def _parts(figures: Mapping[str, Any]) -> Iterator[RenderableType]:
    if figures["records"] is None:
        yield Text("Nothing was counted yet: run the same command again to continue.")
        return
    where = " and ".join(figures["options"]["where"] or ())
    meant = f"Records where {where}" if where else "All records"
    yield Text(f"{meant} of {list_words(figures['parties'])}: {_count(figures['records'])}.")
    for column in figures["columns"]:
        yield table_of(*count_rows(column))
        if column["mean"] is not None:
            first = column["first_day"]
            quartiles = ", ".join(_number(one, first) for one in column["quantiles"])
            yield Text(f"{column['name']}: mean {_number(column['mean'], first)}; quartiles {quartiles}.")
    yield Text(
        "Intervals of counts cover the noise; intervals of means and quartiles hold wherever values lie "
        "within their bins."
    )


def count_rows(column: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return a head and a row for each value of a column, and for missing ones."""
    rows = [(one["value"], _count(one["count"])) for one in column["counts"]]
    return (column["name"], "records (95% interval)"), [*rows, ("missing", _count(column["missing"]))]


def _count(interval: Mapping[str, float]) -> str:
    estimate, low, high = (round(max(interval[end], 0.0)) for end in ("estimate", "low", "high"))
    return f"{estimate:,} ({low:,} to {high:,})"


def _number(interval: Mapping[str, float], first_day: str | None) -> str:
    """Return a figure and its interval, as calendar days if numbers are days since the first."""

    def text(value: float) -> str:
        if first_day is None:
            return f"{value:.4g}"
        return str(datetime.date.fromisoformat(first_day) + datetime.timedelta(days=round(value)))

    return f"{text(interval['estimate'])} ({text(interval['low'])} to {text(interval['high'])})"
