"""Rounds in progress in a folder: choosing queries, and training on the answers."""

import json
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ostraka.client.retraining import StudentTraining, collect, read_given
from ostraka.client.rounds.rounds_options import Rounds
from ostraka.client.run.labelling import LabelResult
from ostraka.client.run.options import asked_labels
from ostraka.client.run.pool import pool_digest
from ostraka.client.run.rounds_state import RoundsState, RoundState, round_folder, save_rounds
from ostraka.client.session.run_state import Stop
from ostraka.client.students.evaluation import Features, Records
from ostraka.client.students.models import probabilities
from ostraka.client.students.student_result import STUDENT_FILE, as_json, read_student
from ostraka.client.students.trainers import Progress, ReleasedLabels
from ostraka.common.datasets import Dataset, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import room_in, write_atomic
from ostraka.common.task import Task

Floats: TypeAlias = NDArray[np.float64]


def at_random(features: NDArray[np.float32], count: int, seed: int) -> tuple[int, ...]:
    """Draw `count` rows of a pool, or all if there are fewer, from a public seed, in rising order.

    Of rows with equal features, (N, F), only one is drawn.
    """
    return _of_equals_one(np.random.default_rng(seed).permutation(len(features)), features, count)


def expected_errors(probabilities: NDArray[np.float64], task: Task, labels: tuple[int, ...]) -> Floats:
    """Return how many labels of each record a student expects to get wrong, (N,).

    Args:
        probabilities: of each class, (N, classes), or of each label of a multi-label task.
        task: of the records.
        labels: indices of the labels that count; empty means all.
    """
    if not task.multi_label:
        least_probable: Floats = 1 - probabilities.max(axis=1)
        return least_probable
    chosen = probabilities[:, list(labels)] if labels else probabilities
    total: Floats = np.minimum(chosen, 1 - chosen).sum(axis=1)
    return total


def least_sure(
    errors: Floats, features: NDArray[np.float32], excluded: Collection[int], count: int
) -> tuple[int, ...]:
    """Return the `count` unasked rows for which a student expects most errors, or all if there are fewer.

    Args:
        errors: expected errors for each record of the pool, (N,).
        features: of these records, (N, F); of equal records only the first is chosen, because each would be
            paid for and teachers would answer all of them alike.
        excluded: rows that were asked before, including those without an answer, which were also paid for.
        count: number of rows to choose.
    """
    rows = np.setdiff1d(np.arange(len(errors)), list(excluded))
    return _of_equals_one(rows[np.argsort(-errors[rows], kind="stable")], features, count)


def _of_equals_one(order: NDArray[np.int64], features: NDArray[np.float32], count: int) -> tuple[int, ...]:
    """Return the first `count` rows of `order` without an equal row before them, in rising order."""
    first: dict[bytes, int] = {}
    for row in order.tolist():
        first.setdefault((features[row] + 0.0).tobytes(), row)
    return tuple(sorted(list(first.values())[:count]))


POOL_FILE = "pool.npz"
Ask = Callable[[int], LabelResult]
"""Asks all pending queries of a round, by its number."""


@dataclass
class Learner:
    """Rounds in a folder that this process has locked.

    Attributes:
        folder: the rounds' folder.
        task: of the pool.
        data: the pool's records.
        features: their prepared features.
        own: own labelled records.
        tested: the records that students are measured on.
        options: number of rounds, queries per round, and the student.
        queries: returns the number of queries of a round, by its number.
        on_training: called with the progress of trainings.
        state: the rounds that were begun.
    """

    folder: Path
    task: Task
    data: Dataset
    features: Features
    own: Records | None
    tested: Records | None
    options: Rounds
    queries: Callable[[int], int]
    on_training: Progress
    state: RoundsState

    def run(self, ask: Ask) -> tuple[bool, Stop | None]:
        """Run all remaining rounds, starting with the last one that was begun.

        Return whether the pool was exhausted before the end, and the limit that a round met.
        """
        for number in range(max(1, len(self.state.rounds)), self.options.count + 1):
            if number > len(self.state.rounds) and not self._begin(number):
                return True, None
            stopped = self._round(number, ask)
            if stopped is not None:
                return False, stopped
        return False, None

    def _begin(self, number: int) -> bool:
        """Choose the queries of a round, and store them; return False if none are left."""
        from ostraka.client.students.files import load_student

        count = self.queries(number)
        if number == 1:
            rows = at_random(self.features, count, self.options.seed)
        else:
            student = load_student(self._student(number - 1))
            given = probabilities(student, self.features, len(self.task.classes))
            errors = expected_errors(given, self.task, asked_labels(self.options.first, self.task))
            rows = least_sure(errors, self.features, self.state.all_rows(), count)
        # Stored before any party is asked: choosing again after a crash could pay for other records.
        if rows:
            self._keep((*self.state.rounds, RoundState(rows=rows)))
        return bool(rows)

    def _round(self, number: int, ask: Ask) -> Stop | None:
        """Ask the pending queries of a round, and train on the answers."""
        one = self.state.rounds[number - 1]
        folder = round_folder(self.folder, number)
        with room_in(self.folder):
            folder.mkdir(exist_ok=True)
        rows = np.array(one.rows)
        # Without labels and consent levels, which are not sent.
        save(replace(self.data.take(rows), y=None, consent=None), folder / POOL_FILE)
        result = ask(number)
        released = collect(self.task, self.features, read_given(self.task, self.folder, self.features))
        if not len(released.rows):
            raise _no_labels_error(result)
        if result.asked and one.learned != len(released.rows):
            self._train(number, released)
            learned = one.model_copy(update={"learned": len(released.rows)})
            self._keep((*self.state.rounds[: number - 1], learned))
        return result.stopped

    def _train(self, number: int, released: ReleasedLabels) -> None:
        """Train the student on all rounds so far, and store it with its metrics in this round's folder."""
        training = self._training(number)
        named = replace(
            training,
            progress=lambda name, done, total: self.on_training(f"round {number}, {name}", done, total),
        )
        trained = named.train_on_all(released)
        before = self._before(training, number)
        result = training.keep(trained, None, self._student(number))
        told = as_json(result) | {"before": before, "pool_sha256": self._pool_of(number)}
        write_atomic(round_folder(self.folder, number) / STUDENT_FILE, json.dumps(told, indent=1))

    def _before(self, training: StudentTraining, number: int) -> dict[str, Any] | None:
        """Return the metrics of own labels alone, as measured in the first round."""
        first = read_student(round_folder(self.folder, 1), self._pool_of(1)) if number > 1 else None
        if first is not None:
            before: dict[str, Any] | None = first["before"]
            return before
        measured = training.measure_alone()
        return None if measured is None else asdict(measured.metrics)

    def _training(self, number: int) -> StudentTraining:
        """Return the training of a round's student, which logs to a folder of its own."""
        choice = self.options.student
        choice = choice if choice.log is None else replace(choice, log=round_folder(choice.log, number))
        return StudentTraining(self.task, choice, self.own, self.tested, self.options.seed, self.on_training)

    def _pool_of(self, number: int) -> str:
        """Return the digest of the records that a round asks about."""
        return pool_digest(self.features[list(self.state.rounds[number - 1].rows)])

    def _student(self, number: int) -> Path:
        return round_folder(self.folder, number) / self.options.student.file

    def _keep(self, rounds: tuple[RoundState, ...]) -> None:
        self.state = self.state.model_copy(update={"rounds": rounds})
        save_rounds(self.folder, self.state)


def _no_labels_error(result: LabelResult) -> OstrakaError:
    """Return the error if there is nothing to learn from."""
    if result.stopped is not None:
        return OstrakaError(ErrorCode(result.stopped.code), result.stopped.message)
    return OstrakaError(
        ErrorCode.DATA_TOO_FEW,
        f"{result.run} released no label to learn from: ask more queries, or lower the threshold.",
    )
