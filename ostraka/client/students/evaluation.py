"""A student measured on test records, or on its own by cross-validation where there are none."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ostraka.client.students.models import probabilities
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.accuracy import Metrics, measure
from ostraka.common.learning.gain import Gain, gain

FOLDS = 5
"""Parts of cross-validation: of the usual 5 and 10 the one with half the trainings."""

Features: TypeAlias = NDArray[np.float32]
Labels: TypeAlias = NDArray[np.int64]
Records: TypeAlias = tuple[Features, Labels]
Trainer: TypeAlias = Callable[[Records | None, str], Any]
"""Trains a student on own labelled records, if any, and on whatever else it was given before; by a name."""


@dataclass(frozen=True)
class Measured:
    """A student on labelled records: its metrics, the true labels `y`, and its probabilities (N, classes)."""

    metrics: Metrics
    y: Labels = field(repr=False)
    probabilities: NDArray[np.float64] = field(repr=False)

    @classmethod
    def of(cls, y: Labels, probabilities: NDArray[Any], names: Sequence[str]) -> Self:
        """Measure probabilities against true labels."""
        return cls(measure(y, probabilities, names), y, np.asarray(probabilities, np.float64))

    def gain_over(self, own: "Measured | None") -> Gain:
        """Return the gain over the student of own labels alone, measured on the same records."""
        names = [label.name for label in self.metrics.labels]
        return gain(self.y, self.probabilities, None if own is None else own.probabilities, names)


def test_student(student: Any, records: Records, names: Sequence[str]) -> Measured:
    """Measure a student on labelled records; `names` are of the task's classes or labels."""
    X, y = records
    return Measured.of(y, probabilities(student, X, len(names)), names)


def cross_validate(
    train: Trainer, own: Records, names: Sequence[str], name: str, *, seed: int = 0
) -> Measured | None:
    """Measure on own records, each predicted by a student, of this `name`, trained without its fold.

    None where there are too few own records or classes to hold any back.
    """
    X, y = own
    if len(y) < FOLDS:
        return None
    folds = np.random.default_rng(seed).permutation(len(y)) % FOLDS
    predicted = np.empty((len(y), len(names)))
    for fold in range(FOLDS):
        held_out = folds == fold
        rest = ~held_out
        try:
            student = train((X[rest], y[rest]), f"{name}-fold-{fold + 1}")
        except OstrakaError as error:
            if error.code is ErrorCode.DATA_TOO_FEW:
                return None
            raise
        predicted[held_out] = probabilities(student, X[held_out], len(names))
    return Measured.of(y, predicted, names)
