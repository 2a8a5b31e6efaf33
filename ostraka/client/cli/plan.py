"""`ostraka query plan`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ostraka.client.run.asking_options import AskingOptions, Queries, SiteFolder, TaskFile
from ostraka.common.console.cli import write_json
from ostraka.common.console.options import SettingsFile, model_options
from ostraka.common.console.screen import Screen
from ostraka.common.console.texts import epsilon_text, number_text
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.planning import options
from ostraka.common.planning.search.search_options import SearchOptions
from ostraka.common.privacy.filters import filter_text

if TYPE_CHECKING:
    from ostraka.client.run.plan_search import Asking


@model_options
def plan(
    *,
    site: SiteFolder,
    mechanism: options.SearchedMechanism = None,
    pool: Annotated[
        Path | None, typer.Option("--pool", help="Records to label: .csv, .parquet, .xlsx or .npz.")
    ] = None,
    queries: Queries = None,
    planned: AskingOptions,
    searched: SearchOptions,
    votes: Annotated[
        Path | None, typer.Option(help="With --search: public or simulated votes, .npy or .npz.")
    ] = None,
    labelled: Annotated[
        Path | None,
        typer.Option(
            help="With --search: own labelled records; models trained on them vote in place of the teachers."
        ),
    ] = None,
    task: TaskFile = None,
    settings: SettingsFile = None,
    plot: options.Plot = None,
    json: options.Json = None,
) -> None:
    """Show the worst-case cost of labelling for every party; no session is opened and nothing is
    charged.

    With --search, find the mechanism and noise that give the most correct labels for what is left of
    the budgets.
    """
    from ostraka.client.querier import Querier
    from ostraka.client.run import planning
    from ostraka.client.run.options import PlanOptions
    from ostraka.client.run.plan_search import Asking
    from ostraka.common.mechanism.arguments import read_mechanism
    from ostraka.common.planning.plot import draw

    searched.check()
    if searched.search:
        kind = options.kind_to_search(mechanism)
        asking = Asking(site, pool, queries, planned, searched, kind, votes, labelled, task, settings)
        _search(asking, plot, json)
        return
    for option, given in (("--votes", votes), ("--labelled", labelled)):
        if given is not None:
            raise OstrakaError(ErrorCode.CONFIG_INVALID, f"{option} works only with --search: add it.")
    if mechanism is None:
        raise options.missing_mechanism()
    asked = PlanOptions(mechanism=read_mechanism(mechanism), queries=queries, **dict(planned))
    result = Querier(site, task=task).plan(asked, pool, curves=plot is not None)
    if plot is not None:
        budgets = {party.budget_epsilon for party in result.reply.parties}
        draw(plot, result.curves, sorted(budgets), f"{asked.mechanism.kind}: worst case of this plan")
    figures = planning.as_json(result) | {"advice": planning.tell_advice(result, site)}
    screen = Screen(stderr=json == "-")
    show_plan(figures, screen)
    screen.print(figures["advice"], soft_wrap=True)
    write_json(figures, json)


def _search(asking: "Asking", plot: Path | None, json: str | None) -> None:
    from ostraka.client.fitting.beside_votes import offer_sums, show_offers
    from ostraka.client.run.plan_search import search
    from ostraka.common.planning.plot import check_picture, draw_frontier
    from ostraka.common.planning.search.result import lines, show
    from ostraka.common.telemetry import progress

    if plot is not None:
        check_picture(plot)
    with progress() as display:
        bar = display.add_task("settings", total=None)
        found = search(asking, lambda done, total: display.update(bar, completed=done, total=total))
    if plot is not None:
        draw_frontier(plot, lines(found.points), "Right labels for what is left of budgets, worst case")
    offers = offer_sums(asking.site, asking.pool, asking.options, task_file=asking.task)
    screen = Screen(stderr=json == "-")
    show(found.figures, screen)
    screen.print(show_offers(offers, asking.site), soft_wrap=True)
    screen.print(found.figures["advice"], soft_wrap=True)
    write_json(found.figures | {"sums": offers.model_dump()}, json)


def show_plan(figures: Mapping[str, Any], console: Console) -> None:
    """Show how the pool was read, and the plan's cost for every party, with warnings."""
    from ostraka.client.report import tables
    from ostraka.client.run.planning import title_plan

    shown = figures["enforce"] == "worst_case"
    table = Table("party", "group", "teachers", "filter", "delta", "epsilon of this plan", "budget")
    table.title = title_plan(figures)
    if shown:
        table.add_column("queries that fit")
    for party in figures["parties"]:
        numbers = [filter_text(party["order"]), number_text(party["delta"]), epsilon_text(party["epsilon"])]
        cells = [party["group"], str(party["teachers"]), *numbers, f"{party['budget_epsilon']:g}"]
        fits = [f"{party['fits']:,}"] if shown else []
        table.add_row(party["site"], *cells, *fits)
    for sentence in figures["reading"]:
        console.print(Text(f"The pool: {sentence}"), soft_wrap=True)
    console.print(table)
    console.print(
        f"With variant {figures['variant']}, {figures['teachers']} teachers give {figures['voters']:g} "
        "votes on a query on average; `align` in a settings file would scale noise that suits teachers "
        f"without shared records by {figures['scale']:g}.",
        soft_wrap=True,
    )
    if figures["noise"] == "parties":
        console.print(_noise_text(figures), soft_wrap=True)
    for warning in figures["warnings"]:
        console.print(f"Warning: {warning}", soft_wrap=True)
    if figures["repeated"]:
        console.print(tables.repeats(figures["repeated"]), soft_wrap=True)
    if figures["unguaranteed"]:
        console.print(tables.no_guarantee_text(figures["unguaranteed"]), soft_wrap=True)
    if not shown:
        console.print(
            "The federation enforces data-dependent costs, so the number of queries that fit depends on "
            "votes and is not shown.",
            soft_wrap=True,
        )


def _noise_text(figures: Mapping[str, Any]) -> str:
    """Return a text on the cost of noise from the parties."""
    fits = figures["guardian_fits"]
    otherwise = "" if fits is None else f"; with the guardian's noise {fits:,} queries would fit"
    return (
        f"Noise comes from the parties, of whom {figures['colluders']} may collude: if all answer, it is"
        f" {figures['noise_growth']:.3g} times what the plan says; a query costs all its noisy counts"
        f"{otherwise}."
    )
