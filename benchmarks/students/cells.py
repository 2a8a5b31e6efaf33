"""One student of one budget, measured once and cached."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.students.answers import answer
from benchmarks.students.data import Division
from benchmarks.students.settings import Plan, Setting
from ostraka.client.students.neural import Neural
from ostraka.client.students.registry import make_student
from ostraka.common.files.durable import write_atomic
from ostraka.common.learning.data import Labelled
from ostraka.common.learning.training_run import UNWATCHED, TrainingRun


@dataclass(frozen=True)
class Cell:
    """A student with a seed, and its training labels.

    Attributes:
        student: its algorithm.
        budget: epsilon that the plan allows.
        seed: of the order of queries, the noise and the training.
        asked: number of queries.
        answered: number of released labels.
        correct: share of them that are right.
        epsilon: data-dependent, of the release.
        worst_case: the same for any votes.
        accuracy: share of the test records that the student classifies correctly.
        seconds: duration of the student's training.
        processor: its processor time in seconds, summed over all cores.
    """

    student: str
    budget: float
    seed: int
    asked: int
    answered: int
    correct: float
    epsilon: float
    worst_case: float
    accuracy: float
    seconds: float
    processor: float


def file_of(cache: Path, setting: Setting, student: str, plan: Plan, seed: int) -> Path:
    """Return the file of a cell."""
    steps = setting.learning(student).steps
    return cache / f"{setting.dataset}-{student}-{steps}-steps-{plan.epsilon:.3f}-{seed}.json"


def cell(
    cache: Path,
    setting: Setting,
    division: Division,
    votes: NDArray[np.int64],
    student: str,
    plan: Plan,
    seed: int,
    progress: Callable[[int, int], None],
) -> Cell:
    """Return a cell; measure it if it is not in the cache."""
    file = file_of(cache, setting, student, plan, seed)
    if not file.exists():
        found = _measure(setting, division, votes, student, plan, seed, progress)
        write_atomic(file, json.dumps(asdict(found)))
    return Cell(**json.loads(file.read_text(encoding="utf-8")))


def learn(
    setting: Setting,
    division: Division,
    student: str,
    rows: NDArray[np.int64],
    labels: NDArray[np.int64],
    seed: int,
    run: TrainingRun = UNWATCHED,
) -> Neural:
    """Return a student trained on `labels` (n,) for `rows` (n,) of the pool, and its other records
    unlabeled."""
    model = make_student(
        student,
        shape=division.task.input.shape,
        classes=len(division.task.classes),
        learning=setting.learning(student),
        seed=seed,
    )
    rest = np.delete(division.pool, rows, axis=0)
    model.learn_from(Labelled(division.pool[rows], labels), rest, run=run)
    return model


def _measure(
    setting: Setting,
    division: Division,
    votes: NDArray[np.int64],
    student: str,
    plan: Plan,
    seed: int,
    progress: Callable[[int, int], None],
) -> Cell:
    released = answer(votes, plan, setting.delta, seed)
    start = time.perf_counter()
    used = time.process_time()
    model = learn(setting, division, student, released.rows, released.labels, seed, TrainingRun(progress))
    seconds = time.perf_counter() - start
    processor = time.process_time() - used
    spent, worst = released.epsilons(plan, setting.delta)
    return Cell(
        student=student,
        budget=plan.epsilon,
        seed=seed,
        asked=released.asked,
        answered=len(released.rows),
        correct=float((released.labels == division.pool_y[released.rows]).mean()),
        epsilon=spent,
        worst_case=worst,
        accuracy=model.score(division.test, division.test_y),
        seconds=seconds,
        processor=processor,
    )
