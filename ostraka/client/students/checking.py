"""Checks of training data that no student can learn from."""

import math

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.data import Labelled
from ostraka.common.learning.shape import Shape


def check_learnable(labelled: Labelled) -> None:
    """Raise `data.too_few` where all labels say the same."""
    if not any(len(np.unique(column[column != UNKNOWN])) > 1 for column in np.atleast_2d(labelled.y.T)):
        raise OstrakaError(
            ErrorCode.DATA_TOO_FEW,
            "A student needs labelled records of at least two classes, or with and without a label: "
            "label some of another class.",
        )


def check_records(
    labelled: Labelled,
    unlabeled: NDArray[np.float32] | None,
    validation: Labelled | None,
    shape: Shape,
    outputs: int,
) -> None:
    """Raise unless records of this shape and labels of as many classes, or labels, can be learned from.

    `data.shape`, `data.nan`, `data.label_range`.
    """
    parts = [labelled] if validation is None else [labelled, validation]
    for X in [part.X for part in parts] + ([] if unlabeled is None else [unlabeled]):
        _check_features(X, shape)
    for part in parts:
        _check_labels(part, outputs, multi_label=labelled.multi_label)


def other_shape(found: Shape, expected: Shape) -> OstrakaError:
    """Return the error that refuses records of another shape."""
    return OstrakaError(
        ErrorCode.DATA_SHAPE,
        f"Records are of shape {found} and the student's of {expected}: prepare them by the same task.",
    )


def _check_features(X: NDArray[np.float32], shape: Shape) -> None:
    if X.ndim != 2 or X.shape[1] != math.prod(shape):
        raise other_shape(X.shape[1:], shape)
    if not np.isfinite(X).all():
        raise OstrakaError(
            ErrorCode.DATA_NAN, "A record has a value that is no number: complete it or leave it out."
        )


def _check_labels(part: Labelled, outputs: int, *, multi_label: bool) -> None:
    if part.multi_label != multi_label or (multi_label and part.y.shape[1] != outputs):
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            "Validation records have other labels than those that are learned: take both of one task.",
        )
    least, most = (UNKNOWN, 1) if multi_label else (0, outputs - 1)
    if part.y.min(initial=0) < least or part.y.max(initial=0) > most:
        raise OstrakaError(
            ErrorCode.DATA_LABEL_RANGE,
            f"Labels are to be from 0 to {most}: give the task's number of classes.",
        )
