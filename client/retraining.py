"""Retraining: a student on own labels alone, and one on released labels as well."""

import json
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from client.answers import label_matrix
from client.run_folder import pool_digest
from client.site import load_query_site, load_site_task
from client.state import load_state
from client.students.evaluation import Features, Labels, Trainer, cross_validate
from client.students.metrics import Metrics, measure
from client.students.models import predict, train
from common.errors import ErrorCode, OstrakaError
from common.files import write_atomic
from common.task import Task

STUDENT_FILE = "student.json"
MODEL_FILE = "student.skops"
Records = tuple[Features, Labels]
BY_TEST, BY_FOLDS = "test records", "cross-validation on own records"


@dataclass(frozen=True)
class StudentResult:
    """A student before and after a run.

    Attributes:
        model: kind of model; `path` is where the one trained on all labels was saved.
        labelled: own labelled records; `released` those that the run gave a label, its student's included.
        measured_on: what the metrics are of; `measured` is their number of records.
        before: metrics of the student of own labels alone, None where nothing could be held back.
        after: metrics of the student of own and released labels.
    """

    model: str
    path: Path
    labelled: int
    released: int
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
    model: str = "logistic_regression",
    out: Path | None = None,
    task_file: Path | None = None,
    seed: int = 0,
) -> StudentResult:
    """Train both students, save the second (skops, default RUN/student.skops) and write RUN/student.json.

    Without a run and its pool there are own labels alone: both students are the same, saved to `out`.

    Raises `task.mismatch`, `data.*` for files that do not fit, `run.mismatch` where `pool` is not the run's,
    `config.invalid` for a run without its pool, or neither run nor `out`.
    """
    load_query_site(site_folder)
    task = load_site_task(site_folder, task_file)
    own = _labelled(task, labelled)
    tested = None if test is None else _labelled(task, test)
    released = _released(task, run_folder, pool) or _none_of(own)
    fit = partial(train, model, standardize=task.input.preprocessing == "none", seed=seed)
    before, after = _metrics(fit, own, released, tested)
    path = _path(out, run_folder)
    _save(fit(*_joined(own, released)), path)
    result = StudentResult(
        model=model,
        path=path,
        labelled=len(own[1]),
        released=len(released[1]),
        measured_on=BY_FOLDS if tested is None else BY_TEST,
        measured=len((tested or own)[1]),
        before=before,
        after=after,
    )
    if run_folder is not None:
        write_atomic(run_folder / STUDENT_FILE, json.dumps(as_json(result), indent=1))
    return result


def as_json(result: StudentResult) -> dict[str, object]:
    """The result in JSON's types."""
    return asdict(result) | {"path": str(result.path)}


def _labelled(task: Task, path: Path) -> Records:
    data = task.load(path)
    return task.prepare(data.X), data.labels()


def _path(out: Path | None, run: Path | None) -> Path:
    if out is None and run is None:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, "Without --run, name the model file as --out.")
    return out or (run or Path()) / MODEL_FILE


def _released(task: Task, run: Path | None, pool: Path | None) -> Records | None:
    """What a run labelled of its pool; None without a run."""
    if (run is None) != (pool is None):
        raise OstrakaError(ErrorCode.CONFIG_INVALID, "A run needs its pool: give both --run and --pool.")
    if run is None or pool is None:
        return None
    state, features = load_state(run), task.prepare(task.load(pool).X)
    if state.pool_sha256 != pool_digest(features) or state.parsed_plan().task_digest != task.digest:
        raise OstrakaError(
            ErrorCode.RUN_MISMATCH,
            f"{run} labelled another pool, or by another task: name the pool and task that it was made with.",
        )
    given = {query: answer for query, answer in state.answers().items() if answer is not None}
    labels = given | state.by_student()
    values = list(labels.values())
    y = label_matrix(values, len(task.classes)) if task.multi_label else np.array(values, np.int64)
    return features[list(labels)], y


def _none_of(records: Records) -> Records:
    return records[0][:0], records[1][:0]


def _metrics(fit: Trainer, own: Records, released: Records, tested: Records | None) -> list[Metrics | None]:
    """Metrics of the student without and with the released labels."""
    none = _none_of(own)
    if tested is None:
        return [cross_validate(fit, *own, *more) for more in (none, released)]
    students = [fit(*_joined(own, more)) for more in (none, released)]
    return [measure(tested[1], predict(student, tested[0])) for student in students]


def _joined(own: Records, more: Records) -> Records:
    return np.concatenate([own[0], more[0]]), np.concatenate([own[1], more[1]])


def _save(student: object, path: Path) -> None:
    import skops.io

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        skops.io.dump(student, path)
    except OSError as exc:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"Cannot write {path} ({exc.strerror}): name another --out file."
        ) from exc
