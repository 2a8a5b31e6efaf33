"""Evaluation of a student on test records, or by cross-validation on own records if there are none."""

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
"""Number of folds in cross-validation: of the usual 5 and 10, the cheaper."""

Features: TypeAlias = NDArray[np.float32]
Labels: TypeAlias = NDArray[np.int64]
Records: TypeAlias = tuple[Features, Labels]
Trainer: TypeAlias = Callable[[Records | None, str], Any]
"""Trains a student on own labelled records, if any, besides data bound before; the text is its name."""


@dataclass(frozen=True)
class Measured:
    """A student's evaluation: its metrics, the true labels `y`, and its probabilities (N, classes)."""

    metrics: Metrics
    y: Labels = field(repr=False)
    probabilities: NDArray[np.float64] = field(repr=False)

    @classmethod
    def of(cls, y: Labels, probabilities: NDArray[Any], names: Sequence[str]) -> Self:
        """Evaluate probabilities against true labels."""
        return cls(measure(y, probabilities, names), y, np.asarray(probabilities, np.float64))

    def gain_over(self, own: "Measured | None") -> Gain:
        """Return the gain over the student of own labels alone, on the same records."""
        names = [label.name for label in self.metrics.labels]
        return gain(self.y, self.probabilities, None if own is None else own.probabilities, names)


def test_student(student: Any, records: Records, names: Sequence[str]) -> Measured:
    """Evaluate a student on labelled records; `names` are the task's classes or labels."""
    X, y = records
    return Measured.of(y, probabilities(student, X, len(names)), names)


def cross_validate(
    train: Trainer, own: Records, names: Sequence[str], name: str, *, seed: int = 0
) -> Measured | None:
    """Evaluate on own records by cross-validation; students get names that begin with `name`.

    Returns None if there are too few own records or classes to hold any back.
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
