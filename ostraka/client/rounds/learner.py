"""Rounds under way in a folder: choosing what to ask, and training on what came."""

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
    """`count` rows of a pool, or all there are, drawn from a public seed, in rising order.

    Of rows with equal features, (N, F), only one is drawn.
    """
    return _of_equals_one(np.random.default_rng(seed).permutation(len(features)), features, count)


def expected_errors(probabilities: NDArray[np.float64], task: Task, labels: tuple[int, ...]) -> Floats:
    """Return how many labels of each record a student expects to get wrong, (N,).

    Args:
        probabilities: of each class, (N, classes), or of each label of a multi-label task by itself.
        task: of the records.
        labels: those that count, by index; none stands for all.
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
    """Return the `count` rows, or all that were not asked, of which a student expects to get most wrong.

    Args:
        errors: expected of each record of the pool, (N,).
        features: of these records, (N, F); of equal ones only the first is chosen, as teachers would say the
            same of all and each would be paid for.
        excluded: rows that were asked before; that teachers did not agree on some of them was paid for
            already.
        count: how many to choose.
    """
    rows = np.setdiff1d(np.arange(len(errors)), list(excluded))
    return _of_equals_one(rows[np.argsort(-errors[rows], kind="stable")], features, count)


def _of_equals_one(order: NDArray[np.int64], features: NDArray[np.float32], count: int) -> tuple[int, ...]:
    """Return the first `count` rows of an order that have no equal before them, in rising order."""
    first: dict[bytes, int] = {}
    for row in order.tolist():
        first.setdefault((features[row] + 0.0).tobytes(), row)
    return tuple(sorted(list(first.values())[:count]))


POOL_FILE = "pool.npz"
Ask = Callable[[int], LabelResult]
"""Asks what is left to ask in a round, by its number."""


@dataclass
class Learner:
    """Rounds in a folder that this process holds.

    Attributes:
        folder: theirs.
        task: of the pool's `data`, whose prepared `features` these are.
        own: labelled records, and `tested` those that students are measured on.
        options: how many rounds there are, of how many queries, and which student they train.
        queries: how many a round asks, by its number.
        on_training: told of its progress.
        state: what was begun.
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
        """Run all rounds that are left, the last that was begun first of all.

        Return whether the pool was exhausted before, and the limit that a round met.
        """
        for number in range(max(1, len(self.state.rounds)), self.options.count + 1):
            if number > len(self.state.rounds) and not self._begin(number):
                return True, None
            stopped = self._round(number, ask)
            if stopped is not None:
                return False, stopped
        return False, None

    def _begin(self, number: int) -> bool:
        """Choose what a round asks, and keep it before anybody is asked; False where nothing is left."""
        from ostraka.client.students.files import load_student

        count = self.queries(number)
        if number == 1:
            rows = at_random(self.features, count, self.options.seed)
        else:
            student = load_student(self._student(number - 1))
            given = probabilities(student, self.features, len(self.task.classes))
            errors = expected_errors(given, self.task, asked_labels(self.options.first, self.task))
            rows = least_sure(errors, self.features, self.state.all_rows(), count)
        # Kept before anybody is asked: choosing again after a crash could pay for other records.
        if rows:
            self._keep((*self.state.rounds, RoundState(rows=rows)))
        return bool(rows)

    def _round(self, number: int, ask: Ask) -> Stop | None:
        """Ask what is left to ask in a round, and train on what came."""
        one = self.state.rounds[number - 1]
        folder = round_folder(self.folder, number)
        with room_in(self.folder):
            folder.mkdir(exist_ok=True)
        rows = np.array(one.rows)
        # Without labels and consent, which nobody is asked about.
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
        """Train the student of all rounds so far, and keep it with its metrics in this round's folder."""
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
        """Metrics of own labels alone, as the first round measured them."""
        first = read_student(round_folder(self.folder, 1), self._pool_of(1)) if number > 1 else None
        if first is not None:
            before: dict[str, Any] | None = first["before"]
            return before
        measured = training.measure_alone()
        return None if measured is None else asdict(measured.metrics)

    def _training(self, number: int) -> StudentTraining:
        """Return how a round trains its student, whose curves go into a folder of their own."""
        choice = self.options.student
        choice = choice if choice.log is None else replace(choice, log=round_folder(choice.log, number))
        return StudentTraining(self.task, choice, self.own, self.tested, self.options.seed, self.on_training)

    def _pool_of(self, number: int) -> str:
        """Digest of the records that a round asks about."""
        return pool_digest(self.features[list(self.state.rounds[number - 1].rows)])

    def _student(self, number: int) -> Path:
        return round_folder(self.folder, number) / self.options.student.file

    def _keep(self, rounds: tuple[RoundState, ...]) -> None:
        self.state = self.state.model_copy(update={"rounds": rounds})
        save_rounds(self.folder, self.state)


def _no_labels_error(result: LabelResult) -> OstrakaError:
    """Why there is nothing to learn from."""
    if result.stopped is not None:
        return OstrakaError(ErrorCode(result.stopped.code), result.stopped.message)
    return OstrakaError(
        ErrorCode.DATA_TOO_FEW,
        f"{result.run} released no label to learn from: ask more queries, or lower the threshold.",
    )
