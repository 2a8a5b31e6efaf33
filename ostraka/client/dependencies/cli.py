"""`ostraka query dependencies`."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from ostraka.client.run.asking_options import LabelledFile, SiteFolder, TaskFile
from ostraka.common.console.cli import write_json
from ostraka.common.console.screen import Screen, table_of
from ostraka.common.planning.options import Json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ostraka.client.dependencies.several_runs import PartedResult
    from ostraka.client.run.dependency_rules import Dependencies

DEFAULT_CONFIDENCE = 0.95
"""Minimum confidence of a rule, by convention; docs/dependencies.md also measures 0.9."""
DEFAULT_SUPPORT = 20
"""Minimum records for a rule: with fewer, one record changes its share by more than a twentieth."""
MAX_SHOWN = 12
"""Maximum number of labels in the printed matrix; the JSON has all."""

File = Annotated[
    Path | None,
    typer.Option(
        "--dependencies",
        help="File from `query dependencies`: parent labels are asked before their children.",
    ),
]

SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--label-settings",
        help="Settings of single labels: TOML file of [[group]] tables with labels and sigma.",
    ),
]


def dependencies(
    site: SiteFolder,
    labelled: LabelledFile,
    out: Annotated[Path, typer.Option("--out", help="File to write, such as deps.toml.")],
    confidence: Annotated[
        float,
        typer.Option(
            help="Smallest share of the records without the parent label that must also lack the child label."
        ),
    ] = DEFAULT_CONFIDENCE,
    support: Annotated[
        int, typer.Option(help="Smallest number of records without the parent label.")
    ] = DEFAULT_SUPPORT,
    task: TaskFile = None,
    json: Json = None,
) -> None:
    """Learn from this site's own records which labels imply others, for `query label --dependencies`."""
    from ostraka.client.dependencies.learn import Absences, learn
    from ostraka.client.run.dependency_rules import write_dependencies
    from ostraka.client.run.site import load_class_task, load_query_site

    load_query_site(site)
    asked = load_class_task("a dependency between labels", site, task)
    y = asked.load(labelled).labels()
    console = Screen(stderr=json == "-")
    if asked.multi_label:
        console.print(_matrix(asked.classes, Absences.of(y).confidence))
    rules = learn(y, asked, confidence=confidence, support=support)
    write_dependencies(rules, out)
    console.print(_rules(rules))
    console.print(f"{len(rules.dependencies)} of {len(asked.classes)} labels depend on another: {out}.")
    figures = {"out": str(out), "records": len(y), "labels": asked.classes, **rules.model_dump()}
    known = Absences.of(y).confidence.tolist()
    confidences = [[None if math.isnan(value) else value for value in row] for row in known]
    write_json(figures | {"confidence": confidences}, json)


def tell(result: "PartedResult") -> str:
    """Return a text on the labels that combined runs left out."""
    return (
        f"{result.implied} labels were not asked because the label on which they depend "
        f"implies them; {result.partly} queries still wait for some labels."
    )


def _matrix(labels: Sequence[str], confidence: "NDArray[np.float64]") -> Table:
    """Return a table of the share of records without the row's label that also lack the column's.

    Dziedzic et al. 2023, Table 3.
    """
    shown = labels[:MAX_SHOWN]
    rows = ((name, *map(_share, values[:MAX_SHOWN])) for name, values in zip(shown, confidence, strict=False))
    return table_of(("absent", *shown), rows, "Share without the other, where one is absent")


def _rules(rules: "Dependencies") -> Table:
    head = ("where this is", "", "so is", "of records", "missed at most", "records")
    words = {"absence": "absent", "presence": "present"}
    rows = (
        (
            rule.parent,
            words[rule.implies],
            rule.child,
            f"{rule.confidence:.3f}",
            f"{rule.missed:.3f}",
            str(rule.support),
        )
        for rule in rules.dependencies
    )
    return table_of(head, rows, "Dependencies")


def _share(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"
