"""`ostraka query probe`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import Field
from rich.table import Table

from ostraka.client.run.asking_options import AskingOptions, LabelledFile, SiteFolder, TaskFile
from ostraka.common.console.cli import ExitStatus, write_json
from ostraka.common.console.options import SettingsFile, model_options
from ostraka.common.console.screen import Screen
from ostraka.common.console.texts import epsilon_text, number_text
from ostraka.common.planning import options as given
from ostraka.common.validation import FrozenModel

if TYPE_CHECKING:
    from ostraka.client.probing.probe import ProbeResult
    from ostraka.client.run.planning import PlanResult

VERDICTS = {"low": "low", "unclear": "unclear: low, as other groups are", "none": ""}


class GroupOptions(FrozenModel):
    """Number of queries, and size of the groups."""

    queries: int = Field(
        ge=1, description="Own records that each group is asked about; no record is asked about twice."
    )
    group_size: int = Field(
        default=2, ge=2, description="Number of parties in a group. Every party is in that number of groups."
    )


@model_options
def probe(
    *,
    site: SiteFolder,
    labelled: LabelledFile,
    out: Annotated[
        Path, typer.Option("--out", help="Folder of the probe; an interrupted probe in it resumes.")
    ],
    groups: GroupOptions,
    mechanism: given.MechanismText,
    planned: AskingOptions,
    settings: SettingsFile = None,
    task: TaskFile = None,
    json: given.Json = None,
) -> None:
    """Find parties that vote badly: ask small groups of parties about own labelled records.

    Each group is a session and is charged as one; the total cost is shown first. The result names
    parties whose groups agree less with the known labels than the other groups do.
    """
    from ostraka.client.probing.probe import as_json
    from ostraka.client.probing.probe import probe as ask_groups
    from ostraka.client.run.labelling import LabellingRun
    from ostraka.client.run.options import PlanOptions
    from ostraka.client.session.meter import QueryMetrics
    from ostraka.common.mechanism.arguments import read_mechanism
    from ostraka.common.telemetry import progress
    from ostraka.common.telemetry.site import observing

    screen = Screen(stderr=True)
    options = PlanOptions(mechanism=read_mechanism(mechanism), queries=groups.queries, **dict(planned))
    try:
        with observing(site) as registry, progress() as display:
            bar = display.add_task("groups", total=None)
            result = ask_groups(
                site,
                labelled,
                options,
                out,
                group_size=groups.group_size,
                task_file=task,
                on_cost=lambda cost: _show_cost(cost, screen),
                on_group=lambda done, total: display.update(bar, completed=done, total=total),
                run=LabellingRun(watch=QueryMetrics(registry)),
            )
    except KeyboardInterrupt:
        typer.echo(f"Interrupted. Run the same command again to continue in {out}.", err=True)
        raise typer.Exit(ExitStatus.INTERRUPTED) from None
    _show(result, screen)
    write_json(as_json(result), json)
    if result.stopped is not None:
        typer.echo(f"Stopped [{result.stopped.code}]: {result.stopped.message}", err=True)
        raise typer.Exit(ExitStatus.STOPPED)


def _show_cost(cost: "PlanResult", screen: Screen) -> None:
    """Print the worst-case cost of all sessions for each party."""
    table = Table("party", "group", "records", "epsilon of this probe", "delta", "budget")
    table.title = f"{len(cost.plan.parties)} sessions, worst case, every query answered"
    for party in cost.parties:
        epsilons = epsilon_text(party["epsilon"]), number_text(party["delta"])
        asked = str(cost.plan.queries)
        table.add_row(party["site"], party["group"], asked, *epsilons, number_text(party["budget_epsilon"]))
    screen.print(table)


def _show(result: "ProbeResult", screen: Screen) -> None:
    """Print how often groups agree with the known labels, which parties stand out, and what that means."""
    groups = Table("parties", "asked", "answered", "agreed", "share", "95% interval", title="Groups")
    for group in result.groups:
        low, high = group.interval
        share = f"{group.agreed / group.asked:.2f}" if group.asked else "-"
        counts = str(group.asked), str(group.answered), str(group.agreed)
        groups.add_row(", ".join(group.parties), *counts, share, f"{low:.2f} to {high:.2f}")
    parties = Table("party", "asked, with others", "agreed", "p, corrected", "", title="Parties")
    for party in result.parties:
        totals = str(party.asked), str(party.agreed)
        parties.add_row(party.site, *totals, f"{party.p:.2g}", VERDICTS[party.verdict])
    screen.print(groups)
    screen.print(parties)
    screen.print(_words(result), soft_wrap=True)


def _words(result: "ProbeResult") -> str:
    """Return text on what the result means, and what it does not."""
    named = {
        verdict: ", ".join(party.site for party in result.parties if party.verdict == verdict)
        for verdict in ("low", "unclear")
    }
    said = []
    if named["low"]:
        said.append(
            f"Groups with {named['low']} agree less with your labels than groups without it: the party "
            "votes badly, or its models were not trained on records like yours. Ask the party, or leave "
            "it out with --parties."
        )
    if named["unclear"]:
        said.append(
            f"So do groups with {named['unclear']}, but other parties in these groups may be the reason: "
            "probe again without them."
        )
    if not said:
        said.append("No party stands out.")
    said.append(
        "A party without a remark is not proved honest: few records prove little, and a probe does not "
        "detect a party that votes badly only on other records, or that knows these records."
    )
    return " ".join(said)
