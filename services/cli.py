"""`ostraka party`: train teachers, check a site against its task, serve votes."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import ValidationError

from common.cli import write_json
from common.config import load_section
from common.datasets import Dataset
from common.errors import ErrorCode, OstrakaError
from common.task import Task, load_task
from common.telemetry import progress
from services import admin_cli
from services.policy import PartySection
from services.teachers.abstaining import abstained
from services.teachers.config import Progress, TrainingSection, is_file
from services.teachers.manifest import Together

if TYPE_CHECKING:
    from services.teachers import Ensemble

TEACHERS = "teachers"
UNFINISHED = "teachers.unfinished"
"""Folder of a training that did not reach its end."""

app = typer.Typer(help="Host teachers and answer with shares of their votes.", no_args_is_help=True)
app.command("sign-raise")(admin_cli.sign_raise)
app.command("sign-consent")(admin_cli.sign_consent)
Site = Annotated[Path, typer.Option("--site", help="Site folder made by `ostraka provision`.")]
Data = Annotated[Path | None, typer.Option(help="Labelled records; else data in [training] of site.toml.")]
TaskFile = Annotated[Path | None, typer.Option("--task", help="task.toml; else the site's own.")]
Json = Annotated[str | None, typer.Option("--json", help="Write the result as JSON here; - is stdout.")]


@dataclass(frozen=True)
class Checked:
    """What fits a site's task: its records, and its teachers, by group, where there are any.

    `head` says how they are evaluated on encrypted queries, empty where they cannot be; `encoder` is the
    public network in front of them; `together` how they learned with those of other parties.
    """

    task: str
    records: int
    classes: int
    teachers: int | None
    head: str
    encoder: str
    together: str
    groups: Sequence[dict[str, Any]]


@app.command()
def train(
    site: Site,
    data: Data = None,
    task: TaskFile = None,
    teachers: Annotated[int | None, typer.Option(min=1, help="How many.")] = None,
    model: Annotated[
        str | None,
        typer.Option(help="logistic, mlp, cnn, random_forest, ... or module:function, or file:path."),
    ] = None,
    head: Annotated[
        str | None,
        typer.Option(help="A model that votes on encrypted queries too: linear, square-mlp or square-cnn."),
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes of a network over its slice.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of slices and training.")] = None,
    variant: Annotated[
        str | None,
        typer.Option(
            help="How consent levels are used: none, upsampling, vanishing or weighting; their epsilons are "
            "in [training.consent] of site.toml."
        ),
    ] = None,
    training: Annotated[
        Together | None,
        typer.Option(
            help="Learn together with the teachers of other parties, led by `ostraka lead`: with noise "
            "on what is told of them (dp-ttac), or without any formal guarantee (ttac)."
        ),
    ] = None,
    ready_file: Annotated[Path | None, typer.Option(help="With --training: written once it serves.")] = None,
    json: Json = None,
) -> None:
    """Train this party's teachers on slices of its records; once more after an interruption, goes on."""
    section = _training(
        site,
        data,
        teachers=teachers,
        model=model,
        head=head,
        epochs=epochs,
        seed=seed,
        variant=variant,
    )
    wanted = load_task(task or _task_file(site))
    abstained(wanted, section.abstains)
    records = wanted.load(section.required_data, ignored=section.abstains)
    public = wanted.load(section.threshold_data, ignored=section.abstains) if section.threshold_data else None
    if section.model and is_file(section.model) and training is None:
        _host(site, records, wanted, section, public, json)
        return
    if training is not None:
        ensemble = _together(site, records, wanted, section, public, training, ready_file)
    else:
        ensemble = _alone(site, records, wanted, section, public)
    known = ensemble.manifest
    trained = f"Trained {known.teachers} teachers ({ensemble.training}) on {len(records)} records."
    lines = [trained, *_together_lines(known.together)]
    _tell("\n".join(lines), known.model_dump(mode="json"), json)


def _alone(
    site: Path, records: Dataset, task: Task, section: TrainingSection, public: Dataset | None
) -> "Ensemble":
    """Trains the teachers, and stores them."""
    from services.teachers import train as train_teachers

    with _showing(f"Training {section.teachers} teachers") as shown:
        ensemble = train_teachers(
            records,
            task,
            section,
            seed=section.seed,
            progress=shown,
            public=public,
            unfinished=site / UNFINISHED,
        )
    ensemble.save(site / TEACHERS)
    shutil.rmtree(site / UNFINISHED, ignore_errors=True)
    return ensemble


def _together(
    site: Path,
    records: Dataset,
    task: Task,
    section: TrainingSection,
    public: Dataset | None,
    training: Together,
    ready_file: Path | None,
) -> "Ensemble":
    """Serves rounds until the teachers are trained and stored; a command that is stopped before ends here."""
    from services.teachers.preparation import prepare
    from services.training.server import learn

    prepared = prepare(records, task, section, seed=section.seed, public=public, together=training)
    with _showing(f"Training {section.teachers} teachers together, by rounds") as shown:
        ensemble = learn(site, prepared, task, progress=shown, ready_file=ready_file)
    if ensemble is None:
        typer.echo("Stopped before the last round: run the same command again to go on.", err=True)
        raise typer.Exit(1)
    return ensemble


@contextmanager
def _showing(what: str) -> Iterator[Progress]:
    """A bar on the screen within the block."""
    with progress() as bar:
        step = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(step, completed=done, total=total)


@app.command()
def check(site: Site, data: Data = None, task: TaskFile = None, json: Json = None) -> None:
    """Compare this site's records and teachers with the task, and say what is off."""
    from services.teachers import Ensemble

    wanted = load_task(task or _task_file(site))
    section = _training(site, data)
    abstained(wanted, section.abstains)
    records = wanted.load(section.required_data, ignored=section.abstains)
    teachers, head, encoder, together, groups = None, "", "", "", []
    if (site / TEACHERS).is_dir():
        ensemble = Ensemble.load(site / TEACHERS)
        ensemble.require_task(wanted)
        manifest = ensemble.manifest
        teachers, head, encoder = manifest.teachers, manifest.head, manifest.encoder
        together, groups = manifest.together, [group.model_dump() for group in manifest.groups]
    found = Checked(wanted.name, len(records), len(wanted.classes), teachers, head, encoder, together, groups)
    having = f"{teachers} teachers" if teachers is not None else "no teachers yet"
    lines = [f"{found.records} records and {having} fit the task '{found.task}'.", *map(_line, groups)]
    if teachers is not None:
        lines += [_encrypted_line(head), *_together_lines(together)]
    _tell("\n".join(lines), asdict(found), json)


@app.command("audit-head")
def audit_head(
    site: Site,
    out: Annotated[Path, typer.Option(help="File for `ostraka guardian audit verify --head`.")],
) -> None:
    """Write the latest head of the guardian's audit log that this party was sent."""
    from services.journal import Journal

    with Journal(site / "journal.db") as journal:
        head = journal.audit_head()
    if head is None:
        raise OstrakaError(
            ErrorCode.DATA_MISSING, "This party has not been sent an audit head yet; serve it first."
        )
    out.write_bytes(head.SerializeToString())
    typer.echo(f"Wrote audit head {head.sequence} to {out}.")


@app.command()
def serve(
    site: Site,
    ready_file: Annotated[Path | None, typer.Option(help="Written once votes are taken.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="No TLS; loopback only.")] = False,
) -> None:
    """Serve votes until stopped."""
    from services.server import serve as serve_party

    serve_party(site, ready_file=ready_file, insecure=insecure)


def _host(
    site: Path,
    records: Dataset,
    task: Task,
    section: TrainingSection,
    public: Dataset | None,
    json: str | None,
) -> None:
    """Takes exported models as they are for this party's teachers."""
    from services.teachers.exported_hosting import host

    ensemble = host(records, task, section, folder=site, public=public)
    ensemble.save(site / TEACHERS)
    manifest = ensemble.manifest
    _tell(
        f"Took {manifest.teachers} exported models as teachers of {manifest.records} records.",
        manifest.model_dump(mode="json"),
        json,
    )


def _training(site: Path, data: Path | None, **given: object) -> TrainingSection:
    """Table [training] with what the command line says instead; paths in it are relative to the site.

    Raises:
        OstrakaError: `config.invalid` naming the key or option that is off.
    """
    section = load_section(site, "training", TrainingSection)
    kept = {key: value for key, value in given.items() if value is not None}
    other = dict.fromkeys(("model", "head")) if {"model", "head"} & kept.keys() else {}
    files = {
        "data": data or (section.data and site / section.data),
        "threshold_data": section.threshold_data and site / section.threshold_data,
    }
    try:
        return TrainingSection.model_validate(section.model_dump() | other | kept | files)
    except ValidationError as exc:
        first = exc.errors()[0]
        option, problem = first["loc"][0], first["msg"].removeprefix("Value error, ")
        raise OstrakaError(ErrorCode.CONFIG_INVALID, f"--{option}: {problem}.") from exc


def _line(group: dict[str, Any]) -> str:
    return "  group {name}: {records} records, {teachers} teachers, {copies} to a record".format(**group)


def _encrypted_line(head: str) -> str:
    if head:
        return f"  They vote on encrypted queries too (head {head})."
    return (
        "  They do not vote on encrypted queries: for that run `ostraka party train --head linear`, "
        "square-mlp or square-cnn."
    )


def _together_lines(together: str) -> list[str]:
    if not together:
        return []
    guarantee = ": their votes have no formal guarantee" if together == "ttac" else ""
    return [f"  They learned together with those of other parties by {together}{guarantee}."]


def _task_file(site: Path) -> Path:
    return site / load_section(site, "party", PartySection).task


def _tell(sentence: str, values: object, json: str | None) -> None:
    if json != "-":
        typer.echo(sentence)
    write_json(values, json)
