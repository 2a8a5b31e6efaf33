"""`ostraka query advise`."""

from pathlib import Path
from typing import Annotated

import typer

from ostraka.client.run.asking_options import LabelledFile, SiteFolder, TaskFile
from ostraka.common.console.cli import write_json
from ostraka.common.console.screen import Screen
from ostraka.common.planning.options import Json


def advise(
    *,
    site: SiteFolder,
    labelled: LabelledFile,
    pool: Annotated[
        Path | None, typer.Option(help="Records to label. Default: about 2,000 are assumed.")
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(help="Largest epsilon to spend of a party's budget. Default: all that is left."),
    ] = None,
    parties: Annotated[
        str | None, typer.Option(help="Parties that would answer, as a,b,c. Default: all in site.toml.")
    ] = None,
    task: TaskFile = None,
    page: Annotated[Path | None, typer.Option(help="Write a page.")] = None,
    json: Json = None,
) -> None:
    """Estimate what the parties' records would add to your own, for what is left of their budgets.

    Asks only the guardian; opens no session and charges nothing.
    """
    from ostraka.common.telemetry import progress
    from ostraka.deploy.advice.page import write_page
    from ostraka.deploy.advice.query_advice import advise_query, tell_federation
    from ostraka.deploy.advice.tables import show

    with progress() as shown:
        bar = shown.add_task("Trying each way", total=None)
        found = advise_query(
            site,
            labelled,
            pool,
            epsilon=epsilon,
            parties=None if parties is None else tuple(name.strip() for name in parties.split(",")),
            task_file=task,
            on_step=lambda done, total: shown.update(bar, completed=done, total=total),
        )
    # Shown first: the result of minutes is not lost if a file cannot be written.
    if json != "-":
        show(found.advice, Screen(), tell_federation(found))
    write_json(found.as_json(), json)
    if page is not None:
        write_page(found.advice, page, tell_federation(found))
