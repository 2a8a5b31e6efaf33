"""`ostraka party check`: whether a site's records and teachers fit its task."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import typer

from ostraka.common.console.cli import write_json
from ostraka.common.console.texts import count_text
from ostraka.services.commands.train import Data, Json, Site, TaskFile, joint_training_lines, no_sums_lines


@dataclass(frozen=True)
class Checked:
    """What fits a site's task: its records, and its teachers, by group, if there are any.

    `classes` is 0 if a number is learned. `persons` is the number of persons; None if the task does not say
    that its id identifies persons. `reading` says what was guessed and left out while reading the records,
    one sentence each. `head` is how teachers are evaluated on encrypted queries, empty if they cannot be;
    `encoder` is the public network that encodes their input; `together` is how they learned with other
    parties' teachers; `abstains` has the labels on which they do not vote.
    """

    task: str
    records: int
    classes: int
    persons: int | None
    most_records_of_a_person: int | None
    max_votes_per_person: int
    reading: Sequence[str] = ()
    teachers: int | None = None
    head: str = ""
    encoder: str = ""
    together: str = ""
    abstains: Sequence[str] = ()
    groups: Sequence[dict[str, Any]] = ()


def check(site: Site, data: Data = None, task: TaskFile = None, json: Json = None) -> None:
    """Check this site's records and teachers against the task."""
    from ostraka.common.config import load_section
    from ostraka.common.mechanism.allowed import describe_allowed
    from ostraka.services.admission.policy import PartyPolicy
    from ostraka.services.hosting.contributions import protection
    from ostraka.services.hosting.training_input import TrainingInput
    from ostraka.services.teachers import Ensemble
    from ostraka.services.teachers.config import TEACHERS, is_file
    from ostraka.services.teachers.held_out import read_held_out, tell_held_out

    given = TrainingInput.load(site, data, task)
    wanted = given.task
    persons = given.persons
    exported = given.section.model is not None and is_file(given.section.model)
    found = Checked(
        task=wanted.name,
        records=len(given.records),
        classes=len(wanted.classes),
        persons=len(persons) if persons and persons.stated else None,
        most_records_of_a_person=persons.most if persons and persons.stated else None,
        max_votes_per_person=given.votes_per_person,
        reading=given.records.read_as,
    )
    by_record = False
    balanced = False
    if (site / TEACHERS).is_dir():
        ensemble = Ensemble.load(site / TEACHERS)
        ensemble.require_task(wanted)
        manifest = ensemble.manifest
        balanced = manifest.config is not None and manifest.config.balanced
        by_record = wanted.persons and not manifest.whole_persons and not manifest.files
        found = replace(
            found,
            teachers=manifest.teachers,
            head=manifest.head,
            encoder=manifest.encoder,
            together=manifest.together,
            abstains=[wanted.classes[label] for label in manifest.abstains],
            groups=[group.model_dump() for group in manifest.groups],
        )
    having = "no teachers yet" if found.teachers is None else "no teachers"
    if found.teachers:
        having = count_text(found.teachers, "teacher")
    lines = [f"{found.records} records and {having} fit the task '{found.task}'.", *map(_line, found.groups)]
    lines += [f"  {sentence}" for sentence in found.reading]
    lines.append(f"  {protection(persons, found.records, exported=exported)}")
    if by_record:
        lines.append("  Its teachers were not trained on whole persons yet: run `ostraka party train` again.")
    policy = load_section(site, "policy", PartyPolicy)
    if policy.allows_sums and persons and persons.most > given.votes_per_person:
        summed = persons.count_within(given.votes_per_person)
        each = "one record" if given.votes_per_person == 1 else f"at most {given.votes_per_person} records"
        lines.append(f"  Sums are over {each} of each, {summed} of {found.records} (max_votes_per_person).")
    if found.teachers == 0:
        lines.append("  Its records answer only sums; it takes no part in votes.")
    elif found.teachers is not None:
        lines += [_head_line(found.head, policy.encodings), *joint_training_lines(found.together)]
        lines += [f"  {line}" for line in tell_held_out(read_held_out(site / TEACHERS), balanced=balanced)]
        lines += [f"  They do not vote on {', '.join(found.abstains)}."] if found.abstains else []
    lines.append(f"  Its policy: {describe_allowed(policy.mechanisms)}")
    lines += no_sums_lines(site)
    if json != "-":
        typer.echo("\n".join(lines))
    write_json(asdict(found), json)


def _line(group: dict[str, Any]) -> str:
    return "  group {name}: {records} records, {teachers} teachers, {copies} to a record".format(**group)


def _head_line(head: str, allowed: Collection[str]) -> str:
    from ostraka.common.plan.encodings import encoding_of

    if head and encoding_of(head) in allowed:
        return f"  They vote on encrypted queries too (head {head})."
    if head:
        return (
            f"  They have a head {head} but do not vote on encrypted queries: to allow that, add "
            f'"{encoding_of(head)}" to encodings in [policy] of site.toml.'
        )
    return (
        "  They do not vote on encrypted queries: for that train with `ostraka party train --head linear` or "
        "square, or with square-mlp or square-cnn, which any permitted querying party can extract."
    )
