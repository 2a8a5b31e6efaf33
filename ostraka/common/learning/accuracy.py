"""Accuracy metrics of a student, overall and per label."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets.label_columns import UNKNOWN

POSITIVE = 0.5
"""Probability from which a label is predicted."""


@dataclass(frozen=True)
class LabelFigures:
    """Figures of one label, or of one class against all others.

    Attributes:
        name: name of the label or class.
        support: number of records that have it; a label that is known for no record has 0 in all figures.
        accuracy: share of records for which the prediction is right.
        balanced_accuracy: mean of that share over records with the label and records without it, as far as
            both exist.
        auc: area under the ROC curve; None if all records agree.
        average_precision: area under precision against recall; None if all records agree.
    """

    name: str
    support: int
    accuracy: float
    balanced_accuracy: float
    auc: float | None
    average_precision: float | None


METRICS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "auc": "AUC",
    "map": "average precision",
}
"""Names of the figures of `Metrics`, with their usual names."""


@dataclass(frozen=True)
class Metrics:
    """Figures of a student on some records.

    Attributes:
        accuracy: share of records whose class is right, or mean of the labels' accuracies.
        balanced_accuracy: mean recall of the classes that occur, or mean of the labels' balanced accuracies.
        auc: mean over the labels (one-vs-rest for classes); None if no label has one.
        map: mean of the labels' average precisions, likewise.
        labels: figures of each label or class.
    """

    accuracy: float
    balanced_accuracy: float
    auc: float | None
    map: float | None
    labels: tuple[LabelFigures, ...]


def share(value: float | None) -> str:
    """Format a metric as readable text."""
    return "-" if value is None else f"{value:.3f}"


def measure(y: NDArray[np.int64], probabilities: NDArray[Any], names: Sequence[str]) -> Metrics:
    """Return metrics of probabilities (N, classes) against true class indices (N,), with N at least 1.

    For a multi-label task y is 1, 0 or UNKNOWN (N, labels), and each probability belongs to its own label. A
    label is measured on the records for which it is known.
    """
    if y.ndim == 2:
        labels = _each(y, probabilities >= POSITIVE, probabilities, names)
        known = [label for label, each in zip(labels, y.T, strict=True) if (each != UNKNOWN).any()]
        accuracy = float(np.mean([label.accuracy for label in known]))
        balanced = float(np.mean([label.balanced_accuracy for label in known]))
    else:
        from sklearn.metrics import accuracy_score

        classes = np.arange(len(names))
        predicted = probabilities.argmax(axis=1)
        labels = _each(y[:, None] == classes, predicted[:, None] == classes, probabilities, names)
        accuracy = float(accuracy_score(y, predicted))
        balanced = _recall(y, predicted)
    return Metrics(
        accuracy=accuracy,
        balanced_accuracy=balanced,
        auc=_mean([label.auc for label in labels]),
        map=_mean([label.average_precision for label in labels]),
        labels=labels,
    )


def _each(
    truth: NDArray[Any], predicted: NDArray[np.bool_], scores: NDArray[Any], names: Sequence[str]
) -> tuple[LabelFigures, ...]:
    columns = zip(names, truth.T.astype(np.int64), predicted.T.astype(np.int64), scores.T, strict=True)
    return tuple(
        _figures(name, *(values[each != UNKNOWN] for values in (each, said, score)))
        for name, each, said, score in columns
    )


def _figures(
    name: str, truth: NDArray[np.int64], predicted: NDArray[np.int64], scores: NDArray[Any]
) -> LabelFigures:
    from sklearn.metrics import accuracy_score, average_precision_score, roc_auc_score

    if not len(truth):
        return LabelFigures(name, 0, 0.0, 0.0, None, None)
    differ = len(np.unique(truth)) == 2
    return LabelFigures(
        name=name,
        support=int(truth.sum()),
        accuracy=float(accuracy_score(truth, predicted)),
        balanced_accuracy=_recall(truth, predicted),
        auc=_score(roc_auc_score, truth, scores) if differ else None,
        average_precision=_score(average_precision_score, truth, scores) if differ else None,
    )


def _score(score: Callable[..., Any], truth: NDArray[np.int64], scores: NDArray[Any]) -> float:
    return float(score(truth, scores))


def _recall(truth: NDArray[np.int64], predicted: NDArray[np.int64]) -> float:
    """Return the share of right predictions, averaged over the values that occur."""
    from sklearn.metrics import recall_score

    return float(recall_score(truth, predicted, labels=np.unique(truth), average="macro", zero_division=0.0))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
