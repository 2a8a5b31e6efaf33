"""The quality of predictions, and the intervals of figures over repeated splits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ostraka.client.learners.problem import Kind
from ostraka.common.learning.accuracy import POSITIVE
from ostraka.common.learning.gain import LEVEL, Interval
from ostraka.common.planning.search.vote_sample import RARE_REST

Figure = Literal["accuracy", "balanced_accuracy", "r2"]


@dataclass(frozen=True)
class Measured:
    """Figures of a way on one split; for numbers only R^2.

    Attributes:
        accuracy: fraction of right answers; for labels the mean over them.
        balanced_accuracy: mean recall of classes; for labels the mean over them.
        r2: explained fraction of the variance.
    """

    accuracy: float | None = None
    balanced_accuracy: float | None = None
    r2: float | None = None

    def figure(self, name: Figure) -> float:
        """Return a figure that must exist."""
        value: float | None = getattr(self, name)
        return math.nan if value is None else value


def measure(kind: Kind, y: NDArray[Any], predicted: NDArray[Any]) -> Measured:
    """Return the figures of predicted classes (n,), labels (n, labels) or numbers (n,)."""
    if kind == "number":
        spread = float(((y - y.mean()) ** 2).sum())
        return Measured(r2=1 - float(((y - predicted) ** 2).sum()) / spread if spread > 0 else 0.0)
    columns = list(zip(np.atleast_2d(y.T), np.atleast_2d(predicted.T), strict=True))
    recalls = [
        np.mean([(said[truth == value] == value).mean() for value in np.unique(truth)])
        for truth, said in columns
    ]
    return Measured(float((y == predicted).mean()), float(np.mean(recalls)))


def classes_of(kind: Kind, probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the likeliest classes (n,), or which labels are likelier than not (n, labels)."""
    if kind == "labels":
        return (probabilities >= POSITIVE).astype(np.int64)
    return np.asarray(probabilities.argmax(axis=1), np.int64)


def judge_by(kind: Kind, y: NDArray[Any]) -> Figure:
    """Return the figure to compare ways by: balanced if one class, or value, is most of the records."""
    if kind == "number":
        return "r2"
    columns = np.atleast_2d(y.T)
    rest = [1 - np.bincount(column.astype(np.int64)).max() / len(column) for column in columns]
    return "balanced_accuracy" if float(np.mean(rest)) < RARE_REST else "accuracy"


def expect(values: Sequence[float], name: Figure, test: int) -> Interval:
    """Return the mean of splits, and the 95% interval of one more outcome.

    Splits share records, so they differ less than independent draws of all records would. The variance of
    fractions is therefore increased by the sampling error of the test records (Student's interval of
    prediction).
    """
    from scipy.stats import t

    found = np.asarray(values, np.float64)
    mean = float(found.mean())
    left_open = 0.0 if name == "r2" else mean * (1 - mean) / test
    spread = math.sqrt(float(found.var(ddof=1)) * (1 + 1 / len(found)) + left_open)
    width = float(t.ppf((1 + LEVEL) / 2, len(found) - 1)) * spread
    low = mean - width if name == "r2" else max(mean - width, 0.0)
    return Interval(mean, low, min(mean + width, 1.0))


def compare(values: Sequence[float], others: Sequence[float], share: float) -> tuple[float, float]:
    """Return the mean gain over others on the same splits, and its standard error.

    Args:
        values: of each split.
        others: of the same splits.
        share: ratio of test to training records, by which the variance is increased (Nadeau and Bengio 2003):
            the training records of splits overlap.
    """
    gains = np.subtract(values, others)
    return float(gains.mean()), math.sqrt(float(gains.var(ddof=1)) * (1 / len(gains) + share))
