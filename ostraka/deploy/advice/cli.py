"""`ostraka advise`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from ostraka.common.console.cli import write_json
from ostraka.common.console.options import model_options
from ostraka.common.console.screen import Screen
from ostraka.common.planning.options import Json
from ostraka.deploy.advice.options import AdviceOptions


@model_options
def advise(
    records: Annotated[
        Path,
        typer.Argument(
            help="Labelled records like those of the sites, your own or public: a .csv, .parquet or "
            ".xlsx file."
        ),
    ],
    *,
    label: Annotated[
        list[str],
        typer.Option(
            help="Label column. Repeat the option for a multi-label task, whose labels are 0 and 1."
        ),
    ],
    leave_out: Annotated[
        list[str] | None,
        typer.Option(help="Column that models may not see. Repeat the option for several columns."),
    ] = None,
    target: Annotated[
        Literal["number", "class"] | None,
        typer.Option(
            help="What the label column holds: a number to predict, or classes. Default: decided by its "
            "values."
        ),
    ] = None,
    asked: AdviceOptions,
    page: Annotated[
        Path | None,
        typer.Option(help="Write the advice as an HTML page here, with a plot of accuracy against epsilon."),
    ] = None,
    json: Json = None,
) -> None:
    """Estimate what learning together would gain, before anything is spent: no site is asked or charged.
    Tries on the table what Ostraka offers (votes, sums, own records alone), and recommends one of them, or
    none."""
    from ostraka.common.telemetry import progress
    from ostraka.deploy.advice.advise import advise as advise_on
    from ostraka.deploy.advice.tables import show

    options = asked if page is None else asked.model_copy(update={"curve": True})
    with progress() as shown:
        bar = shown.add_task("Trying each way", total=None)
        advice = advise_on(
            records,
            label,
            options,
            leave_out=leave_out or (),
            target=target,
            on_step=lambda done, total: shown.update(bar, completed=done, total=total),
        )
    # Shown first: the result of minutes is not lost if a file cannot be written.
    if json != "-":
        show(advice, Screen())
    write_json(advice.as_json(), json)
    if page is not None:
        from ostraka.deploy.advice.page import write_page

        write_page(advice, page)
