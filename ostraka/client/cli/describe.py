"""`ostraka query describe`."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostraka.client.describing.describe_options import DescribeOptions
from ostraka.client.run.asking_options import SiteFolder, TaskFile
from ostraka.common.console.cli import write_json
from ostraka.common.console.options import model_options
from ostraka.common.console.screen import Screen
from ostraka.common.planning.options import Json

if TYPE_CHECKING:
    from ostraka.client.describing.describing import Description


@model_options
def describe(
    *,
    site: SiteFolder,
    out: Annotated[Path, typer.Option("--out", help="Folder of the run, which keeps the released counts.")],
    asked: DescribeOptions,
    task: TaskFile = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before the charge.")] = False,
    json: Json = None,
) -> None:
    """Count all parties' records by the values of columns, with noise: histograms, means, shares.

    One release answers for all columns; every further column adds noise to the others.
    """
    from ostraka.client.describing import tables
    from ostraka.client.querier import Querier

    described = Querier(site, task=task).describe(asked, out, before=partial(_confirm, yes=yes))
    figures = described.as_json()
    tables.show(figures, Screen(stderr=json == "-"))
    write_json(figures, json)


def _confirm(planned: "Description", *, yes: bool) -> None:
    """Show what statistics cost, and ask on a terminal whether to continue; abort if not."""
    from ostraka.client.cli.label import is_terminal
    from ostraka.client.describing import tables

    tables.show_plan(planned.as_json(), Screen(stderr=True))
    if not yes and is_terminal():
        typer.confirm("Ask the parties, and have them charged?", abort=True, err=True)
