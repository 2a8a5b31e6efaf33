"""How good a student is."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Metrics:
    """Share of records classified right, and the mean of that share over the classes that occur."""

    accuracy: float
    balanced_accuracy: float


def measure(y: NDArray[np.int64], predicted: NDArray[np.int64]) -> Metrics:
    """The metrics of predicted against true class indices, each (N,) with N at least 1."""
    from sklearn.metrics import accuracy_score, recall_score

    recall = recall_score(y, predicted, labels=np.unique(y), average="macro", zero_division=0.0)
    return Metrics(float(accuracy_score(y, predicted)), float(recall))
