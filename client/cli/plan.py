"""`ostraka query plan`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ostraka.client.report import tables
from ostraka.client.run.options import (
    AdjacencyName,
    BatchSize,
    Charged,
    Encoder,
    Encoding,
    EncodingName,
    Labels,
    PlanOptions,
    Tally,
    TallyName,
)
from ostraka.common.cli import write_json
from ostraka.common.planning import options
from ostraka.common.screen import Screen


def plan(
    site: Annotated[Path, typer.Option("--site", help="Folder of this querying site.")],
    mechanism: options.Kind = "confident",
    pool: Annotated[
        Path | None, typer.Option("--pool", help="Records to label: .npz, .csv or .parquet.")
    ] = None,
    queries: Annotated[int | None, typer.Option(help="How many of the pool to ask; all.")] = None,
    sigma: options.Sigma = None,
    sigma1: options.Sigma1 = None,
    sigma2: options.Sigma2 = None,
    threshold: options.Threshold = None,
    confidence: options.Confidence = None,
    gamma: options.Gamma = None,
    tau: options.Radius = None,
    tau1: options.L1Radius = None,
    max_positives: options.MaxPositives = None,
    epsilon: options.RandEpsilon = None,
    adjacency: Charged = AdjacencyName.RECORD,
    variant: options.Variant = options.VariantName.NONE,
    align: options.Align = False,
    encoding: Encoding = EncodingName.PLAIN,
    tally: Tally = TallyName.AGGREGATE,
    encoder: Encoder = None,
    quorum: Annotated[int | None, typer.Option(help="Fewest parties released together; a majority.")] = None,
    batch_size: BatchSize = None,
    parties: Annotated[str | None, typer.Option(help="Who answers, as a,b,c; all in site.toml.")] = None,
    labels: Labels = None,
    task: Annotated[
        Path | None, typer.Option("--task", help="Task file; task.toml in the site folder.")
    ] = None,
    plot: options.Plot = None,
    json: options.Json = None,
) -> None:
    """Ask what labelling would cost every party at worst; nothing is opened or charged."""
    from ostraka.client.run import planning
    from ostraka.common.mechanism.arguments import make_mechanism
    from ostraka.common.planning.plot import draw

    chosen = make_mechanism(
        mechanism,
        sigma=sigma,
        sigma1=sigma1,
        sigma2=sigma2,
        threshold=threshold,
        confidence=confidence,
        gamma=gamma,
        tau=tau,
        tau1=tau1,
        max_positives=max_positives,
        epsilon=epsilon,
    )
    names = None if parties is None else tuple(name.strip() for name in parties.split(","))
    asked = PlanOptions(
        chosen,
        quorum,
        batch_size,
        queries,
        names,
        adjacency.charged,
        variant.planned,
        align,
        encoding.planned,
        tally.planned,
        encoder,
        None if labels is None else tuple(name.strip() for name in labels.split(",")),
    )
    result = planning.plan(site, pool, asked, task_file=task, curves=plot is not None)
    if plot is not None:
        budgets = {party.budget_epsilon for party in result.reply.parties}
        draw(plot, result.curves, sorted(budgets), f"{mechanism}: worst case of this plan")
    figures = planning.as_json(result)
    _show(figures, Screen(stderr=json == "-"))
    write_json(figures, json)


def _show(figures: Mapping[str, Any], console: Console) -> None:
    shown = figures["enforce"] == "worst_case"
    table = Table("party", "group", "teachers", "order", "delta", "epsilon of this plan", "budget")
    table.title = f"{figures['queries']:,} queries, worst case, every query answered; {figures['notion']}"
    if shown:
        table.add_column("queries that fit")
    for party in figures["parties"]:
        numbers = [f"{party['order']:g}", f"{party['delta']:g}", f"{party['epsilon']:.3f}"]
        cells = [party["group"], str(party["teachers"]), *numbers, f"{party['budget_epsilon']:g}"]
        fits = [f"{party['fits']:,}"] if shown else []
        table.add_row(party["site"], *cells, *fits)
    console.print(table)
    console.print(
        f"Variant {figures['variant']}: of {figures['teachers']} teachers {figures['voters']:g} vote on a "
        f"query on average; --align scales noise that suits teachers without shared records by "
        f"{figures['scale']:g}.",
        soft_wrap=True,
    )
    if figures["unguaranteed"]:
        console.print(tables.unguaranteed(figures["unguaranteed"]), soft_wrap=True)
    if not shown:
        console.print(
            "The federation enforces data-dependent costs, so how many queries fit depends on votes and is "
            "not told.",
            soft_wrap=True,
        )
