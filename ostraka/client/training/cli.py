"""`ostraka lead`: lead the joint training of several parties' teachers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from pydantic import Field
from rich.table import Table

from ostraka.common.console.cli import write_json
from ostraka.common.console.options import model_options
from ostraka.common.console.screen import Screen
from ostraka.common.console.texts import epsilon_text, number_text
from ostraka.common.privacy.guarantees import NOTIONS
from ostraka.common.validation import FrozenModel

if TYPE_CHECKING:
    from ostraka.client.training.joining import TrainingOptions
    from ostraka.client.training.leading import TrainingReport


class LeadOptions(FrozenModel):
    """Settings of a joint training."""

    training: Literal["ttac", "dp-ttac"] = Field(
        description="Joint-training method; `ostraka party train --training` of every party must "
        "name the same."
    )
    rounds: int = Field(default=30, ge=2, description="Number of rounds; each but the last releases a sum.")
    steps: int = Field(default=10, ge=1, description="Local training steps of a teacher in a round.")
    batch_size: int = Field(default=32, ge=1, description="Records in a training step.")
    learning_rate: float = Field(default=0.05, description="Learning rate of a teacher.")
    decay: float = Field(default=1.0, description="Decay factor of the learning rate per round.")
    average_rate: float | None = Field(
        default=None, description="Learning rate of the average; default 1, or 20 if records are clipped."
    )
    clip: Literal["record", "party"] = Field(
        default="record",
        description="For dp-ttac: what is clipped, each record's gradient (record) or each "
        "party's update (party).",
    )
    radius: float = Field(default=2.0, description="For dp-ttac: clipping norm.")
    sigma: float = Field(
        default=24.0, description="For dp-ttac: standard deviation of each parameter's noise, in radii."
    )
    quorum: int | None = Field(
        default=None, description="Smallest number of parties in a sum. Default: a majority."
    )

    def chosen(self) -> "TrainingOptions":
        """Return the options of the training."""
        from ostraka.client.training.joining import TrainingOptions

        noisy = self.training == "dp-ttac"
        average_rate = self.average_rate or (20.0 if noisy and self.clip == "record" else 1.0)
        given = dict(self) | {"average_rate": average_rate}
        del given["training"]
        return TrainingOptions(kind="dp_ttac" if noisy else "ttac", **given)


@model_options
def lead(
    *,
    site: Annotated[
        Path,
        typer.Option(
            "--site", help="Site folder of a party, whose site.toml lists all parties in [parties]."
        ),
    ],
    training: LeadOptions,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the training's progress. Default: training/ in the site folder."),
    ] = None,
    json: Annotated[str | None, typer.Option("--json", help="Write the report here; - is stdout.")] = None,
) -> None:
    """Lead joint training (TTAC, Algorithm 1). Start `ostraka party train --training` at every party first,
    including this one. Run it again to resume after an interruption."""
    from ostraka.client.training.leading import lead as lead_training
    from ostraka.common.telemetry import progress
    from ostraka.common.telemetry.site import observing

    with observing(site), progress() as bar:
        shown = bar.add_task("Learning together", total=training.rounds)
        report = lead_training(
            site,
            training.chosen(),
            out=out,
            on_progress=lambda state: bar.update(shown, completed=state.number + bool(state.finished)),
        )
    if json != "-":
        _show(report)
    write_json(report.model_dump(mode="json"), json)


def _show(report: "TrainingReport") -> None:
    console = Screen()
    fewest = min(report.taking_part)
    console.print(
        f"All teachers were trained for {report.rounds} rounds, with at least {fewest} parties in each sum."
    )
    for site, reason in report.left_out.items():
        console.print(f"Party {site} is left out: {reason}")
    if report.stopped is not None:
        console.print(f"That is fewer than asked for: {report.stopped}")
    if report.guarantee == "none":
        console.print(
            "No formal guarantee: the sums of ttac reveal something about records, and no epsilon bounds "
            "how much."
        )
        return
    columns = ("party", "group", "teachers", f"epsilon ({NOTIONS['record']})", "delta", "budget", "of it")
    table = Table(*columns, title="Cost of the training")
    for cost in report.costs:
        epsilon = epsilon_text(cost.epsilon)
        budget = f"{cost.budget_epsilon:g}"
        row = (cost.site, cost.group, str(cost.teachers), epsilon, number_text(cost.delta), budget)
        table.add_row(*row, f"{cost.share:.0%}")
    console.print(table)
