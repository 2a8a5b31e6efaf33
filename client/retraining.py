"""Retraining: a student on own labels alone, and one on released labels as well."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from client.run_folder import pool_digest
from client.site import load_query_site, load_site_task
from client.students.evaluation import Records, cross_validate, test_student
from client.students.metrics import Metrics
from client.students.released import Released, read_released
from client.students.trainers import Choice, trainer
from common.errors import ErrorCode, OstrakaError
from common.files import write_atomic
from common.task import Task

STUDENT_FILE = "student.json"
MODEL_FILE = "student.skops"
BY_TEST, BY_FOLDS = "test records", "cross-validation on own records"


@dataclass(frozen=True)
class StudentResult:
    """A student before and after a run.

    Attributes:
        student: kind of student, and `model` that of its model; `path` is where the one trained on all labels
            was saved.
        labelled: own labelled records; `released` those that the run gave a label, its student's included.
        pool_sha256: of the pool that was labelled, "" where there was none.
        measured_on: what the metrics are of; `measured` is their number of records.
        before: metrics of the student of own labels alone, None where nothing could be held back.
        after: metrics of the student of own and released labels.
    """

    student: str
    model: str
    path: Path
    labelled: int
    released: int
    pool_sha256: str
    measured_on: str
    measured: int
    before: Metrics | None
    after: Metrics | None


def retrain(
    site_folder: Path,
    labelled: Path,
    run_folder: Path | None = None,
    pool: Path | None = None,
    *,
    test: Path | None = None,
    student: str = "supervised",
    model: str = "logistic_regression",
    out: Path | None = None,
    task_file: Path | None = None,
    seed: int = 0,
) -> StudentResult:
    """Train both students, save the second (default RUN/student.skops) and write RUN/student.json.

    Without a run and its pool there are own labels alone: both students are the same, saved to `out`.

    Raises `task.mismatch`, `data.*` for files that do not fit and for labels that leave nothing to learn,
    `run.mismatch` where `pool` is not the run's, `config.invalid` for a run without its pool, or neither run
    nor `out`. Nothing is written before both students are trained.
    """
    load_query_site(site_folder)
    task = load_site_task(site_folder, task_file)
    own = _labelled(task, labelled)
    tested = None if test is None else _labelled(task, test)
    released = _released(task, run_folder, pool)
    path = _path(out, run_folder)
    choice = Choice(student, model)
    trained, before, after = train_both(task, choice, own, released, tested, seed=seed)
    save_student(trained, path)
    result = StudentResult(
        student=student,
        model=model,
        path=path,
        labelled=len(own[1]),
        released=0 if released is None else len(released.rows),
        pool_sha256="" if released is None else pool_digest(released.features),
        measured_on=BY_FOLDS if tested is None else BY_TEST,
        measured=len((tested or own)[1]),
        before=before,
        after=after,
    )
    if run_folder is not None:
        write_atomic(run_folder / STUDENT_FILE, json.dumps(as_json(result), indent=1))
    return result


def train_both(
    task: Task, choice: Choice, own: Records, released: Released | None, tested: Records | None, *, seed: int
) -> tuple[Any, Metrics | None, Metrics | None]:
    """The student of all labels, and metrics of the one of own labels alone and of it."""
    alone, full = trainer(choice, task, None, seed), trainer(choice, task, released, seed)
    student = full(own)
    if tested is None:
        before, after = (cross_validate(fit, own, task.classes) for fit in (alone, full))
        return student, before, after
    return (
        student,
        test_student(alone(own), tested, task.classes),
        test_student(student, tested, task.classes),
    )


def as_json(result: StudentResult) -> dict[str, Any]:
    """The result in JSON's types."""
    return asdict(result) | {"path": str(result.path)}


def _labelled(task: Task, path: Path) -> Records:
    data = task.load(path)
    return task.prepare(data.X), data.labels()


def _path(out: Path | None, run: Path | None) -> Path:
    if out is None and run is None:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, "Without --run, name the model file as --out.")
    return out or (run or Path()) / MODEL_FILE


def _released(task: Task, run: Path | None, pool: Path | None) -> Released | None:
    """What a run labelled of its pool; None without a run."""
    if (run is None) != (pool is None):
        raise OstrakaError(ErrorCode.CONFIG_INVALID, "A run needs its pool: give both --run and --pool.")
    return None if run is None or pool is None else read_released(task, run, pool)


def save_student(student: object, path: Path) -> None:
    """Save a student; raises `config.invalid` where the file cannot be written."""
    import skops.io

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        skops.io.dump(student, path)
    except OSError as exc:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"Cannot write {path} ({exc.strerror}): name another --out file."
        ) from exc
