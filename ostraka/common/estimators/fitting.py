"""Seeding of estimators, and fitting them to the records for which each label is known."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets.label_columns import UNKNOWN


def fit_labels(model: Any, X: NDArray[np.float32], y: NDArray[np.int64]) -> Any:
    """Return a multi-output classifier of copies of a model, one per label, each fitted where it is known.

    Args:
        model: an untrained classifier; None if no label varies.
        X: features, float32 (N, F).
        y: 1, 0 or UNKNOWN for every label, int64 (N, labels). A label that does not vary is constant, and 0
            if it is known for no record.
    """
    from sklearn.multioutput import MultiOutputClassifier

    fitted = MultiOutputClassifier(model)
    known = [column != UNKNOWN for column in y.T]
    fitted.estimators_ = [fit_label(model, X[rows], y[rows, label]) for label, rows in enumerate(known)]
    fitted.classes_ = [each.classes_ for each in fitted.estimators_]
    return fitted


def fit_label(model: Any, X: NDArray[np.float32], y: NDArray[np.int64]) -> Any:
    """Return a copy of the model fitted to one label (N,), or a constant if the label does not vary."""
    from sklearn.base import clone
    from sklearn.dummy import DummyClassifier

    if varies(y):
        return clone(model).fit(X, y)
    constant = int(y[0]) if len(y) else 0
    return DummyClassifier(strategy="constant", constant=constant).fit(np.zeros((1, 1)), [constant])


def varies(y: NDArray[np.int64]) -> bool:
    """Whether known labels differ."""
    return len(np.unique(y[y != UNKNOWN])) > 1


def parameters_named(estimator: Any, name: str) -> list[str]:
    """Return the parameters of this name, in the estimator itself and in those inside it."""
    return [key for key in estimator.get_params() if key.rpartition("__")[2] == name]


def seed_estimator(estimator: Any, seed: int) -> Any:
    """Return the estimator with every generator in it seeded."""
    return estimator.set_params(**dict.fromkeys(parameters_named(estimator, "random_state"), seed))
