"""`ostraka party train`: a party's teachers, trained alone or jointly, or loaded as exported models."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostraka.common.console.cli import ExitStatus, write_json
from ostraka.common.console.options import model_options
from ostraka.common.console.texts import count_text
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.services.teachers.options import TeacherOptions, Together, Where

if TYPE_CHECKING:
    from ostraka.services.hosting.training_input import TrainingInput
    from ostraka.services.teachers.manifest import TeachersManifest

Site = Annotated[Path, typer.Option("--site", help="Site folder made by `ostraka provision`.")]
Data = Annotated[
    Path | None,
    typer.Option(help="Labelled records. Default: the file that data in [training] of site.toml names."),
]
TaskFile = Annotated[
    Path | None, typer.Option("--task", help="Task file. Default: task.toml in the site folder.")
]
Json = Annotated[str | None, typer.Option("--json", help="Write the result as JSON here; - is stdout.")]


@model_options
def train(
    *,
    site: Site,
    data: Data = None,
    task: TaskFile = None,
    overrides: TeacherOptions,
    training: Annotated[
        Together | None,
        typer.Option(
            help="Train jointly with other parties' teachers, led by `ostraka lead`: dp-ttac (with "
            "noise on released sums) or ttac (without any formal guarantee)."
        ),
    ] = None,
    ready_file: Annotated[
        Path | None, typer.Option(help="With --training: file to write once the party accepts requests.")
    ] = None,
    on: Annotated[
        Where,
        typer.Option(help="Where to train: here (default), or on the Ray cluster at RAY_ADDRESS (ray)."),
    ] = "here",
    json: Json = None,
) -> None:
    """Train this party's teachers on slices of its records. Run it again to resume after an interruption."""
    from ostraka.services.hosting.training_input import TrainingInput
    from ostraka.services.party import train_on
    from ostraka.services.teachers.config import TEACHERS
    from ostraka.services.teachers.held_out import read_held_out, tell_held_out

    given = TrainingInput.load(site, data, task, **dict(overrides))
    known = train_on(given, on) if training is None else _together(given, training, on, ready_file)
    units = "persons" if known.whole_persons else "ids"
    if known.teachers:
        done = "Took exported models as" if known.files else "Trained"
        of = f" of {known.persons} {units}, each with one teacher's" if known.persons else ""
        teachers = count_text(known.teachers, "teacher")
        lines = [f"{done} {teachers} ({known.training}) on {known.records} records{of}."]
    else:
        of = f" of {known.persons} {units}" if known.persons else ""
        lines = [f"Declared {known.records} records{of}, which answer only sums: there are no teachers."]
    held_out = read_held_out(site / TEACHERS)
    balanced = known.config is not None and known.config.balanced
    if json != "-":
        lines += [f"  {sentence}" for sentence in given.records.read_as]
        lines += [*joint_training_lines(known.together), *no_sums_lines(site)]
        typer.echo("\n".join([*lines, *tell_held_out(held_out, balanced=balanced)]))
    told = {"held_out": None if held_out is None else asdict(held_out)}
    write_json(known.model_dump(mode="json") | told, json)


def joint_training_lines(together: str) -> list[str]:
    """Return at most one line about teachers that were trained jointly with other parties."""
    if not together:
        return []
    guarantee = ": their votes have no formal guarantee" if together == "ttac" else ""
    return [f"  They were trained jointly with teachers of other parties by {together}{guarantee}."]


def no_sums_lines(site: Path) -> list[str]:
    """Return at most one line about a party that may answer sums but names no records."""
    from ostraka.common.config import load_section
    from ostraka.services.admission.policy import PartyPolicy
    from ostraka.services.teachers.config import TrainingSection

    policy = load_section(site, "policy", PartyPolicy)
    if not policy.allows_sums or load_section(site, "training", TrainingSection).data is not None:
        return []
    return ["  It answers no sums yet: name its records as data in [training] of site.toml."]


def _together(
    given: "TrainingInput", training: Together, on: Where, ready_file: Path | None
) -> "TeachersManifest":
    """Serve rounds until the teachers are trained and stored; exit if the command is stopped before that."""
    from ostraka.services.party import features_need_alone, ray_trains_alone, showing
    from ostraka.services.teachers.preparation import prepare
    from ostraka.services.training.training_server import learn

    if not given.section.teachers:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            "Joint training needs teachers: give --teachers, or leave out --training.",
        )
    if on == "ray":
        raise ray_trains_alone()
    if given.shared is not None:
        raise features_need_alone()
    if training == "dp-ttac":
        from ostraka.services.hosting.contributions import require_votes

        # The lead decides later whether it clips each record, which then counts individually.
        require_votes(given.persons, given.votes_per_person, "training with others has each record count")
        typer.echo(_privacy_line(given), err=True)
    given.device.require()
    prepared = prepare(
        given.records,
        given.task,
        given.section,
        seed=given.section.seed,
        public=given.public,
        together=training,
        device=given.device,
    )
    with showing(f"Training {given.section.teachers} teachers together, by rounds") as shown:
        ensemble = learn(given.site, prepared, given.task, progress=shown, ready_file=ready_file)
    if ensemble is None:
        typer.echo("Stopped before the last round: run the same command again to continue.", err=True)
        raise typer.Exit(ExitStatus.STOPPED)
    return ensemble.manifest


def _privacy_line(given: "TrainingInput") -> str:
    """Return a line on whom noise on sums of clipped gradients protects."""
    if given.persons is not None:
        return f"Noise protects each of {given.persons}."
    votes = given.votes_per_person
    return (
        f"With --clip record, noise protects {'single records' if votes == 1 else f'any {votes} records'}: "
        f"a person only if max_votes_per_person in [party] of site.toml, now {votes}, is at least the "
        "number of that person's records here."
    )
