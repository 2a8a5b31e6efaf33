"""Accuracy, balanced accuracy, area under the curve and mean average precision, for classes and labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

YES = 0.5  # probability from which a label counts as present


@dataclass(frozen=True)
class Measure:
    """Accuracy, balanced accuracy, area under the ROC curve, average precision, of a label or averaged.

    Accuracy is the share of right labels, or of records with the right class.
    """

    acc: float
    bac: float
    auc: float
    map: float


def measure(y: NDArray[np.int64], p: NDArray[np.float64]) -> Measure:
    """Return the means over classes (y (N,)) or labels (y (N, k)) of probabilities `p` (N, k).

    Classes or labels that are constant in the records count for accuracy only.
    """
    if y.ndim > 1:
        return mean_of(y, p, by_label(y, p))
    from sklearn.metrics import accuracy_score, balanced_accuracy_score

    said = p.argmax(axis=1)
    ranked = measure(np.eye(p.shape[1], dtype=np.int64)[y], p)
    return Measure(
        float(accuracy_score(y, said)), float(balanced_accuracy_score(y, said)), ranked.auc, ranked.map
    )


def by_label(y: NDArray[np.int64], p: NDArray[np.float64]) -> list[Measure | None]:
    """Return the measure of each label of `y` (N, k); None for a constant label."""
    return [_one(true, scores) for true, scores in zip(y.T, p.T, strict=True)]


def mean_of(y: NDArray[np.int64], p: NDArray[Any], every: Sequence[Measure | None]) -> Measure:
    """Return the means of the measures of `by_label` for `y` and `p`, both (N, k)."""
    means = np.mean([[one.bac, one.auc, one.map] for one in every if one is not None], axis=0)
    return Measure(float(((p >= YES) == y).mean()), *means.tolist())


def _one(y: NDArray[np.int64], p: NDArray[np.float64]) -> Measure | None:
    from sklearn.metrics import average_precision_score, roc_auc_score

    if len(np.unique(y)) < 2:
        return None
    yes = p >= YES
    bac = (yes[y == 1].mean() + 1 - yes[y == 0].mean()) / 2
    return Measure(
        float((yes == y).mean()),
        float(bac),
        float(roc_auc_score(y, p)),
        float(average_precision_score(y, p)),
    )
