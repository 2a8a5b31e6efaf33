"""`ostraka query dependencies`."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ostraka.common.console.cli import write_json
from ostraka.common.console.screen import Screen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ostraka.client.dependencies.several_runs import PartedResult
    from ostraka.client.run.dependency_rules import Dependencies

DEFAULT_CONFIDENCE = 0.95
"""Of a rule, by convention; docs/dependencies.md measures 0.9 beside it."""
DEFAULT_SUPPORT = 20
"""Records that a rule rests on: with fewer, one record changes its share by more than a twentieth."""
MAX_SHOWN = 12
"""Labels of which the matrix is printed; the JSON has all."""

File = Annotated[
    Path | None,
    typer.Option(
        "--dependencies", help="Dependencies from `query dependencies`: ask parents before children."
    ),
]

SettingsFile = Annotated[
    Path | None,
    typer.Option("--label-settings", help="Settings of single labels: TOML of [[group]] with labels, sigma."),
]


def dependencies(
    site: Annotated[Path, typer.Option("--site", help="Folder of this querying site.")],
    labelled: Annotated[Path, typer.Option("--labelled", help="This site's own labelled records.")],
    out: Annotated[Path, typer.Option("--out", help="File to write; default deps.toml.")],
    confidence: Annotated[
        float, typer.Option(help="Least share of records without the parent that lack the child, too.")
    ] = DEFAULT_CONFIDENCE,
    support: Annotated[
        int, typer.Option(help="Least number of records without the parent.")
    ] = DEFAULT_SUPPORT,
    task: Annotated[
        Path | None, typer.Option("--task", help="Task file; default task.toml of the site.")
    ] = None,
    json: Annotated[
        str | None, typer.Option("--json", help="Write the result to this file; - is stdout.")
    ] = None,
) -> None:
    """Learn from own records which absent labels rule out others, for `query label --dependencies`."""
    from ostraka.client.dependencies.learn import Absences, learn
    from ostraka.client.run.dependency_rules import write_dependencies
    from ostraka.client.run.site import load_query_site, load_site_task

    load_query_site(site)
    asked = load_site_task(site, task)
    y = asked.load(labelled).labels()
    console = Screen(stderr=json == "-")
    if asked.multi_label:
        console.print(_matrix(asked.classes, Absences.of(y).confidence))
    rules = learn(y, asked, confidence=confidence, support=support)
    write_dependencies(rules, out)
    console.print(_rules(rules))
    console.print(f"{len(rules.dependencies)} of {len(asked.classes)} labels depend on another: {out}.")
    figures = {"out": str(out), "records": len(y), "labels": asked.classes, **rules.model_dump()}
    write_json(figures | {"confidence": _numbers(Absences.of(y).confidence)}, json)


def tell(result: "PartedResult") -> str:
    """Return what runs of some labels each left out, as readable text."""
    return (
        f"{result.implied} labels were not asked because the label that they depend on is absent; "
        f"{result.partly} queries wait for some of theirs."
    )


def _matrix(labels: Sequence[str], confidence: "NDArray[np.float64]") -> Table:
    """Tabulate the share of records without the row's label that lack the column's too.

    Dziedzic et al. 2023, Table 3.
    """
    shown = labels[:MAX_SHOWN]
    table = Table("absent", *map(escape, shown), title="Share without the other, where one is absent")
    for name, row in zip(shown, confidence, strict=False):
        table.add_row(Text(name), *(_share(value) for value in row[:MAX_SHOWN]))
    return table


def _rules(rules: "Dependencies") -> Table:
    table = Table(
        "where this is absent", "so is", "of records", "missed at most", "records", title="Dependencies"
    )
    for rule in rules.dependencies:
        numbers = (f"{rule.confidence:.3f}", f"{rule.missed:.3f}", str(rule.support))
        table.add_row(Text(rule.parent), Text(rule.child), *numbers)
    return table


def _share(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"


def _numbers(values: "NDArray[np.float64]") -> list[list[float | None]]:
    return [[None if math.isnan(value) else value for value in row] for row in values.tolist()]
