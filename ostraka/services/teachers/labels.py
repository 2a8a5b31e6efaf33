"""scikit-learn estimators in multi-label tasks: fitted to all labels at once, or one for each label."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils import get_tags


def for_labels(model: Any) -> Any:
    """Return the estimator itself where it takes labels (N, k) of 0/1, else one of its kind per label."""
    tags = get_tags(model)
    takes = tags.target_tags.multi_output or (tags.classifier_tags and tags.classifier_tags.multi_label)
    return model if takes else OneVsRestClassifier(model)


def label_scores(model: Any, X: NDArray[np.float32]) -> NDArray[Any]:
    """Each label's probability, (Q, k), as an estimator fitted to labels gives it for records (Q, F).

    scikit-learn gives one array, or for each label one with a column for each value its slice had.
    """
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(X))
    found = model.predict_proba(X)
    if not isinstance(found, list):
        return np.asarray(found)
    positive = (part[:, values == 1].sum(axis=1) for part, values in zip(found, model.classes_, strict=True))
    return np.stack(list(positive), axis=1)
