"""`ostraka lead`: lead the teachers of several parties through their training together."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table

from ostraka.client.training.joining import TrainingOptions
from ostraka.client.training.leading import TrainingReport
from ostraka.client.training.leading import lead as lead_training
from ostraka.common.cli import write_json
from ostraka.common.guarantees import NOTIONS
from ostraka.common.screen import Screen
from ostraka.common.telemetry import progress


class TrainingName(StrEnum):
    """How teachers of several parties learn together."""

    TTAC = "ttac"
    DP_TTAC = "dp-ttac"

    @property
    def kind(self) -> Literal["ttac", "dp_ttac"]:
        """The mechanism's name in plans."""
        return "ttac" if self is TrainingName.TTAC else "dp_ttac"


class ClipName(StrEnum):
    """What dp-ttac clips."""

    RECORD = "record"
    PARTY = "party"

    @property
    def planned(self) -> Literal["record", "party"]:
        """The same as a plan holds it."""
        return "party" if self is ClipName.PARTY else "record"


def lead(
    site: Annotated[Path, typer.Option("--site", help="Folder of a party, with all parties in [parties].")],
    training: Annotated[TrainingName, typer.Option(help="As every party runs `ostraka party train` with.")],
    rounds: Annotated[int, typer.Option(min=2, help="How many; each but the last releases a sum.")] = 30,
    steps: Annotated[int, typer.Option(min=1, help="Steps of a teacher in a round.")] = 10,
    batch_size: Annotated[int, typer.Option(min=1, help="Records of a step.")] = 32,
    learning_rate: Annotated[float, typer.Option(help="Step size of a teacher.")] = 0.05,
    decay: Annotated[float, typer.Option(help="What that is multiplied by from round to round.")] = 1.0,
    average_rate: Annotated[
        float | None, typer.Option(help="Step size of the average: 1; where records are clipped, 20.")
    ] = None,
    clip: Annotated[
        ClipName, typer.Option(help="dp-ttac: clip each record's gradient, or what a party learned.")
    ] = ClipName.RECORD,
    radius: Annotated[float, typer.Option(help="dp-ttac: the norm clipped to, in parameters.")] = 2.0,
    sigma: Annotated[float, typer.Option(help="dp-ttac: noise of each parameter, in radii.")] = 24.0,
    quorum: Annotated[int | None, typer.Option(help="Fewest parties in a sum; a majority.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where progress is kept; training/ of the site.")] = None,
    json: Annotated[str | None, typer.Option("--json", help="Write the report here; - is stdout.")] = None,
) -> None:
    """Lead all parties' teachers through Algorithm 1 of TTAC; once more after an interruption, goes on.

    Every party runs `ostraka party train --training` meanwhile, this one too.
    """
    by_record = training is TrainingName.DP_TTAC and clip is ClipName.RECORD
    options = TrainingOptions(
        kind=training.kind,
        rounds=rounds,
        steps=steps,
        batch_size=batch_size,
        learning_rate=learning_rate,
        decay=decay,
        average_rate=average_rate or (20.0 if by_record else 1.0),
        clip=clip.planned,
        radius=radius,
        sigma=sigma,
        quorum=quorum,
    )
    from ostraka.common.telemetry.site import observing

    with observing(site), progress() as bar:
        shown = bar.add_task("Learning together", total=rounds)
        report = lead_training(
            site,
            options,
            out=out,
            told=lambda state: bar.update(shown, completed=state.number + bool(state.finished)),
        )
    if json != "-":
        _show(report)
    write_json(report.to_json(), json)


def _show(report: TrainingReport) -> None:
    console = Screen()
    fewest = min(report.taking_part)
    console.print(f"All teachers learned for {report.rounds} rounds, at least {fewest} parties in each sum.")
    if report.stopped is not None:
        console.print(f"That is fewer than asked for: {report.stopped}")
    if report.guarantee == "none":
        console.print("No formal guarantee: the sums of ttac tell of records, and no epsilon says how much.")
        return
    columns = ("party", "group", "teachers", f"epsilon ({NOTIONS['record']})", "delta", "budget", "of it")
    table = Table(*columns, title="Cost of the training")
    for cost in report.costs:
        epsilon, budget = f"{cost.epsilon:.3f}", f"{cost.budget_epsilon:g}"
        row = (cost.site, cost.group, str(cost.teachers), epsilon, f"{cost.delta:g}", budget)
        table.add_row(*row, f"{cost.share:.0%}")
    console.print(table)
