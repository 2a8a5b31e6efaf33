"""`ostraka party`: train teachers, check a site against its task, serve votes."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ostraka.common.config import load_section
from ostraka.common.console.cli import write_json
from ostraka.common.plan.encodings import encoding_of
from ostraka.services.admission.policy import PartyPolicy
from ostraka.services.commands import admin
from ostraka.services.commands.train import Data, Json, Site, TaskFile, joint_training_lines, train
from ostraka.services.hosting.contributions import protection
from ostraka.services.hosting.training_input import TrainingInput
from ostraka.services.teachers.config import TEACHERS, is_file

app = typer.Typer(
    help="Host teachers and answer with shares of their votes.", no_args_is_help=True, add_completion=False
)
app.command()(train)
app.command("sign-raise")(admin.sign_raise)
app.command("sign-consent")(admin.sign_consent)


@dataclass(frozen=True)
class Checked:
    """What fits a site's task: its records, and its teachers, by group, where there are any.

    `persons` says how many have records, none where the task names no id. `head` says how teachers are
    evaluated on encrypted queries, empty where they cannot be; `encoder` is the public network in front of
    them; `together` how they learned with those of other parties; `abstains` names the labels on which they
    do not vote.
    """

    task: str
    records: int
    classes: int
    persons: int | None
    most_records_of_a_person: int | None
    max_votes_per_person: int
    teachers: int | None = None
    head: str = ""
    encoder: str = ""
    together: str = ""
    abstains: Sequence[str] = ()
    groups: Sequence[dict[str, Any]] = ()


@app.command()
def check(site: Site, data: Data = None, task: TaskFile = None, json: Json = None) -> None:
    """Check this site's records and teachers against the task."""
    from ostraka.services.teachers import Ensemble

    given = TrainingInput.load(site, data, task)
    wanted = given.task
    persons = given.persons
    found = Checked(
        task=wanted.name,
        records=len(given.records),
        classes=len(wanted.classes),
        persons=None if persons is None else len(persons),
        most_records_of_a_person=None if persons is None else persons.most,
        max_votes_per_person=given.votes_per_person,
    )
    by_record = False
    if (site / TEACHERS).is_dir():
        ensemble = Ensemble.load(site / TEACHERS)
        ensemble.require_task(wanted)
        manifest = ensemble.manifest
        by_record = persons is not None and not manifest.persons and not manifest.files
        found = replace(
            found,
            teachers=manifest.teachers,
            head=manifest.head,
            encoder=manifest.encoder,
            together=manifest.together,
            abstains=[wanted.classes[label] for label in manifest.abstains],
            groups=[group.model_dump() for group in manifest.groups],
        )
    having = f"{found.teachers} teachers" if found.teachers is not None else "no teachers yet"
    lines = [f"{found.records} records and {having} fit the task '{found.task}'.", *map(_line, found.groups)]
    exported = given.section.model is not None and is_file(given.section.model)
    lines.append(f"  {protection(persons, found.records, exported=exported)}")
    if by_record:
        lines.append("  Its teachers did not learn from whole persons yet: run `ostraka party train` again.")
    if found.teachers is not None:
        allowed = load_section(site, "policy", PartyPolicy).encodings
        lines += [_head_line(found.head, allowed), *joint_training_lines(found.together)]
        lines += [f"  They do not vote on {', '.join(found.abstains)}."] if found.abstains else []
    _tell("\n".join(lines), asdict(found), json)


@app.command("audit-head")
def audit_head(
    site: Site,
    out: Annotated[Path, typer.Option(help="File for `ostraka guardian audit verify --head`.")],
) -> None:
    """Write the latest head of the guardian's audit log that this party received."""
    from ostraka.services.party import Party

    typer.echo(f"Wrote audit head {Party(site).audit_head(out)} to {out}.")


@app.command("status")
def status_command(site: Site, json: Json = None) -> None:
    """Show certificates, teachers, answers, spending, and what the guardian says of this party."""
    from ostraka.common.console.screen import Screen
    from ostraka.services.serving import status

    found = status.party_status(site)
    status.show(found, Screen(stderr=json == "-"))
    write_json(status.as_json(found), json)


@app.command()
def serve(
    site: Site,
    ready_file: Annotated[Path | None, typer.Option(help="File to write once votes are taken.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="No TLS; loopback only.")] = False,
) -> None:
    """Serve votes until stopped."""
    from ostraka.services.serving.server import serve as serve_party

    serve_party(site, ready_file=ready_file, insecure=insecure)


def _line(group: dict[str, Any]) -> str:
    return "  group {name}: {records} records, {teachers} teachers, {copies} to a record".format(**group)


def _head_line(head: str, allowed: Collection[str]) -> str:
    if head and encoding_of(head) in allowed:
        return f"  They vote on encrypted queries too (head {head})."
    if head:
        return (
            f"  They have a head {head} and do not vote on encrypted queries: for that add "
            f'"{encoding_of(head)}" to encodings in [policy] of site.toml.'
        )
    return (
        "  They do not vote on encrypted queries: for that run `ostraka party train --head linear`, or "
        "square-mlp or square-cnn, which whoever may ask can take."
    )


def _tell(sentence: str, values: object, json: str | None) -> None:
    if json != "-":
        typer.echo(sentence)
    write_json(values, json)
