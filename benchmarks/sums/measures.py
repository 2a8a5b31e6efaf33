"""One figure of a model on test records."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.sums.data import Figure, Split


def measure(model: Any, split: Split, figure: Figure) -> float:
    """Return accuracy, the area under the curve (mean over labels), or R^2."""
    from sklearn.metrics import r2_score, roc_auc_score

    if figure == "accuracy":
        return float((model.predict(split.X_test) == split.y_test).mean())
    if figure == "R^2":
        return float(r2_score(split.y_test, model.predict(split.X_test)))
    scores = np.asarray(model.predict_proba(split.X_test))
    if split.y_test.ndim == 1:
        return float(roc_auc_score(split.y_test, scores[:, 1]))
    told = _tell_apart(split.y_test)
    return float(roc_auc_score(split.y_test[:, told], scores[:, told], average="macro"))


def _tell_apart(y: NDArray[np.number]) -> list[int]:
    """Return the labels that are not constant in the test records."""
    return [label for label in range(y.shape[1]) if 0 < y[:, label].sum() < len(y)]
