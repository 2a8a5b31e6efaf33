"""How good a student is."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

POSITIVE = 0.5
"""Probability from which a label is predicted."""


@dataclass(frozen=True)
class Metrics:
    """Share of records classified right, and the mean of that share over the classes that occur."""

    accuracy: float
    balanced_accuracy: float


@dataclass(frozen=True)
class LabelMetrics(Metrics):
    """Means over labels of each label's metrics.

    Area under the ROC curve and average precision are over the labels that occur with and without, None where
    there is no such label.
    """

    auc: float | None
    average_precision: float | None


def measure(y: NDArray[np.int64], predicted: NDArray[Any]) -> Metrics:
    """Metrics of predicted against true class indices, each (N,) with N at least 1.

    Of a multi-label task y is 0 or 1 (N, labels), and `predicted` the probabilities of the labels.
    """
    if y.ndim == 2:
        return _measure_labels(y, predicted)
    from sklearn.metrics import accuracy_score, recall_score

    recall = recall_score(y, predicted, labels=np.unique(y), average="macro", zero_division=0.0)
    return Metrics(float(accuracy_score(y, predicted)), float(recall))


def _measure_labels(y: NDArray[np.int64], probabilities: NDArray[np.float64]) -> LabelMetrics:
    from sklearn.metrics import average_precision_score, roc_auc_score

    columns = list(zip(y.T, probabilities.T, strict=True))
    each = [measure(true, (scores >= POSITIVE).astype(np.int64)) for true, scores in columns]
    both = [(true, scores) for true, scores in columns if len(np.unique(true)) == 2]
    return LabelMetrics(
        accuracy=float(np.mean([metrics.accuracy for metrics in each])),
        balanced_accuracy=float(np.mean([metrics.balanced_accuracy for metrics in each])),
        auc=_mean(roc_auc_score, both),
        average_precision=_mean(average_precision_score, both),
    )


def _mean(
    score: Callable[..., float], columns: Iterable[tuple[NDArray[np.int64], NDArray[np.float64]]]
) -> float | None:
    values = [score(*column) for column in columns]
    return float(np.mean(values)) if values else None
