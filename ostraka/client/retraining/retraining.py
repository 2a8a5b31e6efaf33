"""Retraining: a student on own labels alone, and one on released labels as well."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostraka.client.retraining.released_labels import read_released
from ostraka.client.run.run_folder import held, pool_digest
from ostraka.client.run.site import load_query_site, load_site_task
from ostraka.client.students.evaluation import Measured, Records, cross_validate, test_student
from ostraka.client.students.models import is_learnable, train_constant
from ostraka.client.students.provenance import STUDENT_FILE
from ostraka.client.students.released import ReleasedLabels
from ostraka.client.students.student_result import StudentResult, as_json
from ostraka.client.students.trainers import Choice, Progress, trainer
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import write_atomic
from ostraka.common.task import Source, Task

BY_TEST, BY_FOLDS, UNMEASURED = "test records", "cross-validation on own records", "records: none given"


def retrain(
    site_folder: Path,
    labelled: Source | None,
    run_folder: Path | None = None,
    pool: Source | None = None,
    *,
    test: Source | None = None,
    choice: Choice | None = None,
    out: Path | None = None,
    task_file: Path | None = None,
    seed: int = 0,
    progress: Progress = lambda name, done, total: None,
) -> StudentResult:
    """Train both students, save the second (RUN/student.skops or .safetensors) and write RUN/student.json.

    Without a run and its pool there are own labels alone: both students are the same, saved to `out`.
    Without own labels there is no student to compare with.

    Raises `task.mismatch`, `data.*` for files that do not fit and for labels that leave nothing to learn,
    `run.mismatch` where `pool` is not the run's or another process is at work in its folder,
    `config.invalid` for a run without its pool, neither run nor `out`, or nothing to learn from,
    `model.invalid` for a factory's estimator that is not allowed, and `model.diverged`. Nothing is written
    before both students are trained.
    """
    load_query_site(site_folder)
    task = load_site_task(site_folder, task_file)
    choice = (choice or Choice()).resolved(task)
    own = None if labelled is None else read_labelled(task, labelled)
    tested = None if test is None else read_labelled(task, test)
    path = _path(out, run_folder, choice)
    with _held_if_run(run_folder):
        released = _released(task, run_folder, pool)
        trained = train_on_all(task, choice, own, released, tested, seed=seed, progress=progress)
        before = measure_alone(task, choice, own, tested, seed=seed, progress=progress)
        result = keep(trained, before, choice, path)
        if run_folder is not None:
            write_atomic(run_folder / STUDENT_FILE, json.dumps(as_json(result), indent=1))
    return result


@dataclass(frozen=True)
class Trained:
    """A student of all labels, what it was trained and tested on, and how it was measured."""

    student: Any
    own: Records | None
    released: ReleasedLabels | None
    tested: Records | None
    after: Measured | None


def train_on_all(
    task: Task,
    choice: Choice,
    own: Records | None,
    released: ReleasedLabels | None,
    tested: Records | None,
    *,
    seed: int,
    progress: Progress = lambda name, done, total: None,
) -> Trained:
    """Train the student on all labels and measure it; raise `config.invalid` where there are none."""
    if own is None and released is None:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            "There is nothing to learn from: give --labelled, or --run and --pool, or all three.",
        )
    full = trainer(choice, task, released, seed=seed, progress=progress)
    student = full(own, "all")
    after: Measured | None = None
    if tested is not None:
        after = test_student(student, tested, task.classes)
    elif own is not None:
        after = cross_validate(full, own, task.classes, "all")
    return Trained(student, own, released, tested, after)


def measure_alone(
    task: Task,
    choice: Choice,
    own: Records | None,
    tested: Records | None,
    *,
    seed: int,
    progress: Progress = lambda name, done, total: None,
) -> Measured | None:
    """Measure the student of own labels alone, None where there are none or nothing can be held back.

    Own labels that all say the same make one that always says so.
    """
    if own is None:
        return None
    alone = trainer(choice, task, None, seed=seed, progress=progress)
    if tested is None:
        return cross_validate(alone, own, task.classes, "own")
    student = alone(own, "own") if is_learnable(own[1]) else train_constant(*own)
    return test_student(student, tested, task.classes)


def keep(trained: Trained, before: Measured | None, choice: Choice, path: Path) -> StudentResult:
    """Save a trained student, and tell of it beside the one of own labels alone."""
    from ostraka.client.students.files import save_student

    save_student(trained.student, path)
    measured = trained.tested or trained.own
    return StudentResult(
        student=choice.student,
        model=choice.kind,
        path=path,
        labelled=0 if trained.own is None else len(trained.own[1]),
        released=0 if trained.released is None else len(trained.released.rows),
        pool_sha256="" if trained.released is None else pool_digest(trained.released.features),
        measured_on=BY_TEST if trained.tested else BY_FOLDS if trained.own else UNMEASURED,
        measured=0 if measured is None else len(measured[1]),
        before=None if before is None else before.metrics,
        after=None if trained.after is None else trained.after.metrics,
        gain=None if trained.after is None else trained.after.gain_over(before),
        guarantee=getattr(trained.student, "guarantee_", None),
    )


def read_labelled(task: Task, source: Source) -> Records:
    """Read the prepared features, and the labels, of labelled records."""
    data = task.records(source)
    return task.prepare(data.X), data.labels()


def _path(out: Path | None, run: Path | None, choice: Choice) -> Path:
    if out is None and run is None:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, "Without --run, name the model file as --out.")
    return out or (run or Path()) / choice.file


@contextmanager
def _held_if_run(folder: Path | None) -> Iterator[None]:
    """Lock a run's folder against other processes; without one do nothing, which reading it reports."""
    if folder is None or not folder.is_dir():
        yield
        return
    with held(folder):
        yield


def _released(task: Task, run: Path | None, pool: Source | None) -> ReleasedLabels | None:
    """Return what a run labelled of its pool; None without a run."""
    if (run is None) != (pool is None):
        raise OstrakaError(ErrorCode.CONFIG_INVALID, "A run needs its pool: give both --run and --pool.")
    return None if run is None or pool is None else read_released(task, run, pool)
