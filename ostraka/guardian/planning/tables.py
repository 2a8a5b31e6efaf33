"""A plan's figures as tables for people."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from ostraka.common.console.screen import Screen
from ostraka.common.console.texts import epsilon_text, number_text
from ostraka.common.privacy.filters import filter_option, filter_text


def show(figures: Mapping[str, Any]) -> None:
    """Print the result of `plan`."""
    console = Screen()
    worst = figures["worst_case"]
    budget = figures["budget"]
    kept, proposed = (filter_text(budget[order]) for order in ("order", "proposed_order"))
    console.print(
        f"Every party's budget: epsilon {budget['epsilon']:g} at delta {number_text(budget['delta'])}. "
        f"Filter {proposed} pays for the most queries in the worst case; figures are for {kept}:\n"
        f"  ostraka guardian budget set --epsilon {budget['epsilon']:g} --delta {budget['delta']:g} "
        f"{filter_option(budget['order'])} --adjacency {figures['adjacency']} --site ... --party ...",
        soft_wrap=True,
    )
    console.print(_worst_case_table(worst, figures["adjacency"], figures["notion"]))
    if figures["expected"]:
        expected = figures["expected"]
        console.print(f"{expected['queries']:,} simulated queries, {expected['answered']:.1%} answered:")
        console.print(_simulation_table(expected, figures["notion"]))
        console.print(
            "Expected figures come from one release of simulated votes. A federation that enforces "
            "worst_case stops by the worst case, not by exact; theorem6 bounds only one direction.",
            soft_wrap=True,
        )
    if figures["noise_growth"] != 1:
        console.print(
            f"Parties draw the noise: if all {figures['parties']} answer, it is {figures['noise_growth']:.3g}"
            " times what the mechanism says.",
            soft_wrap=True,
        )
    if figures["others_fit"]:
        fitting = ", ".join(f"{name} {_count(fits)}" for name, fits in figures["others_fit"].items())
        console.print(
            "With the same noise and filter, in the worst case, these numbers of queries would fit: "
            f"{fitting}.",
            soft_wrap=True,
        )


def _worst_case_table(worst: Mapping[str, Any], adjacency: str, notion: str) -> Table:
    table = Table(f"worst case, one {adjacency}", "if all are answered", "if none passes")
    check, answer, batch = (worst[f"rdp_of_{what}"] for what in ("a_check", "an_answer", "a_batch"))
    table.add_row("rdp of one query", f"{check + answer:.6g}", f"{check if check else answer:.6g}")
    if batch:
        table.add_row("rdp of a whole batch", f"{batch:.6g}", f"{batch:.6g}")
    table.add_row("queries that fit", _count(worst["fits_all_answered"]), _count(worst["fits_none_answered"]))
    table.add_row(
        f"epsilon of {worst['queries']:,} queries ({notion})",
        epsilon_text(worst["epsilon_all_answered"]),
        epsilon_text(worst["epsilon_none_answered"]),
    )
    return table


def _simulation_table(expected: Mapping[str, Any], notion: str) -> Table:
    table = Table("bound", f"epsilon ({notion})", "queries that fit", "its best order")
    for bound, figures in expected["bounds"].items():
        table.add_row(
            bound, epsilon_text(figures["epsilon"]), _count(figures["fits"]), f"{figures['best_order']:g}"
        )
    return table


def _count(fits: int | None) -> str:
    return "any number in one batch" if fits is None else f"{fits:,}"
