"""`ostraka party train`: a party's teachers, trained alone or with others', or taken as they are."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from pydantic import Field

from ostraka.common.cli import write_json
from ostraka.common.cli_options import model_options
from ostraka.common.config import load_section
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.exit_status import ExitStatus
from ostraka.common.frozen_model import FrozenModel
from ostraka.common.telemetry import progress
from ostraka.services.policy import PartySection
from ostraka.services.teachers.config import TEACHERS, Progress, is_file
from ostraka.services.teachers.manifest import Together
from ostraka.services.training_input import TrainingInput

if TYPE_CHECKING:
    from ostraka.services.teachers import Ensemble
    from ostraka.services.teachers.recipes import FitGroups

UNFINISHED = "teachers.unfinished"
"""Folder of a training that did not reach its end."""

Site = Annotated[Path, typer.Option("--site", help="Site folder made by `ostraka provision`.")]
Data = Annotated[
    Path | None, typer.Option(help="Labelled records; else data in table training of site.toml.")
]
TaskFile = Annotated[Path | None, typer.Option("--task", help="task.toml; else the site's own.")]
Json = Annotated[str | None, typer.Option("--json", help="Write the result as JSON here; - is stdout.")]


Where = Literal["here", "ray"]
"""Where teachers are trained."""


class TeacherOptions(FrozenModel):
    """What overrides table training of site.toml, with which it is checked."""

    teachers: int | None = Field(default=None, ge=1, description="Number of teachers.")
    model: str | None = Field(
        default=None,
        description="logistic, mlp, cnn, random_forest, ... or module:function, or file:path.",
    )
    head: str | None = Field(
        default=None,
        description="A model that votes on encrypted queries too: linear, square-mlp or square-cnn.",
    )
    epochs: int | None = Field(default=None, ge=1, description="Passes of a network over its slice.")
    seed: int | None = Field(default=None, ge=0, description="Seed of the slices and of training.")
    variant: str | None = Field(
        default=None,
        description="How consent levels are used: none, upsampling, vanishing or weighting; their epsilons "
        "are in table training.consent of site.toml.",
    )


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
            help="Learn together with the teachers of other parties, led by `ostraka lead`: with noise "
            "on what is told of them (dp-ttac), or without any formal guarantee (ttac)."
        ),
    ] = None,
    ready_file: Annotated[Path | None, typer.Option(help="With --training: written once it serves.")] = None,
    on: Annotated[
        Where, typer.Option(help="Train here, or as tasks of the Ray cluster at RAY_ADDRESS: ray.")
    ] = "here",
    json: Json = None,
) -> None:
    """Train this party's teachers on slices of its records; once more after an interruption, goes on."""
    given = TrainingInput.load(site, data, task, **dict(overrides))
    asked = given.section.model
    exported = training is None and asked is not None and is_file(asked)
    if on == "ray" and (training is not None or exported):
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            "--on ray is for teachers that this party trains alone: leave it out, or the other option.",
        )
    if given.shared is not None and (on == "ray" or training is not None or exported):
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            "Teachers learn from shared_features alone and here: take that out of [training] of site.toml, "
            "or leave out --on, --training or the exported models.",
        )
    if exported:
        ensemble = _host(given)
    elif training is not None:
        ensemble = _together(given, training, ready_file)
    else:
        ensemble = _alone(given, on)
    known = ensemble.manifest
    done = "Took exported models as" if exported else "Trained"
    lines = [f"{done} {known.teachers} teachers ({ensemble.training}) on {known.records} records."]
    if json != "-":
        typer.echo("\n".join([*lines, *joint_training_lines(known.together)]))
    write_json(known.model_dump(mode="json"), json)


def joint_training_lines(together: str) -> list[str]:
    """Return what is said, in at most one line, of teachers that learned together with other parties'."""
    if not together:
        return []
    guarantee = ": their votes have no formal guarantee" if together == "ttac" else ""
    return [f"  They learned together with those of other parties by {together}{guarantee}."]


def _host(given: TrainingInput) -> "Ensemble":
    """Take exported models as they are for this party's teachers."""
    from ostraka.services.teachers.exported.import_folder import host

    ensemble = host(given.records, given.task, given.section, folder=given.site, public=given.public)
    ensemble.save(given.site / TEACHERS)
    return ensemble


def _alone(given: TrainingInput, on: Where) -> "Ensemble":
    """Trains the teachers, and stores them."""
    from ostraka.services.teachers import train as train_teachers

    unfinished = given.site / UNFINISHED
    with _showing(f"Training {given.section.teachers} teachers") as shown:
        ensemble = train_teachers(
            given.records,
            given.task,
            given.section,
            seed=given.section.seed,
            progress=shown,
            public=given.public,
            shared=given.shared,
            unfinished=unfinished,
            fit_groups=_trainer(on, unfinished / "received"),
        )
    ensemble.save(given.site / TEACHERS)
    shutil.rmtree(unfinished, ignore_errors=True)
    return ensemble


def _trainer(on: Where, received: Path) -> "FitGroups":
    """Return what trains groups of teachers where they are to be trained."""
    if on == "here":
        from ostraka.services.teachers.recipes import fit_here

        return fit_here
    try:
        from ostraka.services.teachers.on_ray import fit_on_ray
    except ImportError as exc:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, "--on ray needs Ray: install it with `pip install ostraka[ray]`."
        ) from exc
    return fit_on_ray(received)


def _together(given: TrainingInput, training: Together, ready_file: Path | None) -> "Ensemble":
    """Serve rounds until the teachers are trained and stored; a command stopped before that ends here."""
    from ostraka.services.teachers.preparation import prepare
    from ostraka.services.training.training_server import learn

    if training == "dp-ttac":
        typer.echo(_protected_line(load_section(given.site, "party", PartySection)), err=True)
    prepared = prepare(
        given.records,
        given.task,
        given.section,
        seed=given.section.seed,
        public=given.public,
        together=training,
    )
    with _showing(f"Training {given.section.teachers} teachers together, by rounds") as shown:
        ensemble = learn(given.site, prepared, given.task, progress=shown, ready_file=ready_file)
    if ensemble is None:
        typer.echo("Stopped before the last round: run the same command again to go on.", err=True)
        raise typer.Exit(ExitStatus.STOPPED)
    return ensemble


def _protected_line(party: PartySection) -> str:
    """Whom noise on sums of clipped gradients protects."""
    votes = party.max_votes_per_person
    return (
        f"With --clip record, noise protects {'single records' if votes == 1 else f'any {votes} records'}: "
        f"a person only if max_votes_per_person in [party] of site.toml, now {votes}, is at least the "
        "number of that person's records here."
    )


@contextmanager
def _showing(what: str) -> Iterator[Progress]:
    """Show a bar on the screen within the block."""
    with progress() as bar:
        step = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(step, completed=done, total=total)
