"""Printed view of a fit: its questions and costs, and its result."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.text import Text

from ostraka.client.fitting.accuracy import BY_OWN
from ostraka.common.console.screen import table_of
from ostraka.common.console.texts import epsilon_text, list_words, number_text
from ostraka.common.learning.accuracy import METRICS, share
from ostraka.common.learning.gain import Interval
from ostraka.common.learning.verdict import doubts, interval_text, read_gain, tell_gain
from ostraka.common.privacy.filters import filter_text

MODEL = "the model is"


def show_plan(figures: Mapping[str, Any], console: Console) -> None:
    """Print what a fit will ask, reveal and cost, with warnings."""
    console.print(Group(*_plan_parts(figures)), soft_wrap=True)


def show_fit(figures: Mapping[str, Any], console: Console) -> None:
    """Print what a fit asked, its cost and its result."""
    console.print(Group(*_plan_parts(figures), *_result_parts(figures)), soft_wrap=True)


def show_result(figures: Mapping[str, Any], console: Console) -> None:
    """Print a fit's result."""
    console.print(Group(*_result_parts(figures)), soft_wrap=True)


def _plan_parts(figures: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield from (Text(sentence) for sentence in figures["reading"])
    rounds = figures["rounds_planned"]
    yield Text(
        f"Learner {figures['learner']}: {rounds} {'sum' if rounds == 1 else 'sums'} over "
        f"{figures['declared_records']:,} labelled records that parties declare. {figures['reason']}"
    )
    yield table_of(*cost_rows(figures["costs"]), "Worst case, all sums released")
    told = "; ".join(figures["tells"]) or "nothing"
    yield Text(f"The sums reveal to the parties about your own records: {told}.")
    yield from (Text(f"Warning: {warning}") for warning in figures["warnings"])


COST_HEAD = (
    "party",
    "group",
    "records",
    "delta",
    "epsilon of this alone",
    "as its budget counts",
    "budget",
    "filter",
    "share of budget",
    "sums that fit",
)
Rows = list[tuple[str, ...]]


def cost_rows(costs: Iterable[Mapping[str, Any]]) -> tuple[tuple[str, ...], Rows]:
    """Return a head and a row for each party: the cost of sums, and how many its budget pays for."""
    rows: Rows = [
        (
            cost["site"],
            cost["group"],
            f"{cost['records']:,}",
            number_text(cost["delta"]),
            epsilon_text(cost["epsilon"]),
            epsilon_text(cost["charged_epsilon"]),
            f"{cost['budget_epsilon']:g}",
            filter_text(cost["order"]),
            f"{cost['share']:.1%}",
            "-" if cost["fits"] is None else f"{cost['fits']:,}",
        )
        for cost in costs
    ]
    return COST_HEAD, rows


def _result_parts(figures: Mapping[str, Any]) -> Iterator[RenderableType]:
    if figures["model"] is None:
        yield Text("There is no model yet: run the same command again to continue.")
        return
    yield Text(
        f"{figures['rounds']} of {figures['rounds_planned']} sums were released, over "
        f"{figures['records']:,.0f} records of {list_words(figures['parties'])}."
    )
    yield from (Text(note) for note in figures["notes"])
    yield from (Text(f"Left out {site}: {why}") for site, why in figures["left_out"].items())
    yield from _accuracy_parts(figures)
    yield Text("Further predictions of the model cost nothing.")


def _accuracy_parts(figures: Mapping[str, Any]) -> Iterator[RenderableType]:
    accuracy = figures["accuracy"]
    if accuracy["model"] is None:
        yield Text("The model was not tested, because there are no labelled records.")
        return
    title = f"Measured on {accuracy['measured']} {accuracy['measured_on']}"
    yield table_of(*accuracy_rows(accuracy), title)
    if accuracy["measured_on"] == BY_OWN:
        yield Text("Expect lower accuracy on records that the model did not use: give some as --test.")
    gain = read_gain(accuracy)
    if gain is not None:
        yield Text(tell_gain(gain, accuracy["measured_on"], MODEL))
        doubted = doubts(gain, accuracy["measured_on"], MODEL, "the sums")
        yield from (Text(f"Warning: {doubt}") for doubt in doubted)


NUMBER_HEAD = (
    "R^2 (95% interval)",
    "mean absolute error (95% interval)",
    "share within the model's interval for 90%",
)


def accuracy_rows(accuracy: Mapping[str, Any]) -> tuple[tuple[str, ...], Rows]:
    """Return a head, and rows for the model, own records alone, and the most frequent class."""
    whose = (("own", "own records alone"), ("model", "the model"))
    if accuracy["gain"] is None:
        rows = [
            (who, *(_number(accuracy[name], figure) for figure in ("r2", "mean_absolute_error", "covered")))
            for name, who in whose
        ]
        return ("", *NUMBER_HEAD), rows
    nothing = ("-",) * (len(METRICS) - 1)
    shares = [
        (who, *(share((accuracy[name] or {}).get(metric)) for metric in METRICS)) for name, who in whose
    ]
    head = ("", *METRICS.values())
    return head, [("most frequent", share(accuracy["gain"]["majority"]), *nothing), *shares]


def _number(figures: Mapping[str, Any] | None, name: str) -> str:
    found = None if figures is None else figures[name]
    return "-" if found is None else interval_text(Interval(**found))
