"""A student measured on test records, or on its own by cross-validation where there are none."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from client.students.metrics import Metrics, measure
from client.students.models import predict
from common.errors import OstrakaError

FOLDS = 5

Features = NDArray[np.float32]
Labels = NDArray[np.int64]
Trainer = Callable[[Features, Labels], Any]


def cross_validate(
    train: Trainer, X: Features, y: Labels, more_X: Features, more_y: Labels, *, seed: int = 0
) -> Metrics | None:
    """Metrics on own records (X, y), each predicted by a student trained without its fold.

    The further records (more_X, more_y) are trained on in every fold and measured in none. None where there
    are too few own records or classes to hold any back.
    """
    if len(y) < FOLDS:
        return None
    folds = np.random.default_rng(seed).permutation(len(y)) % FOLDS
    predicted = np.empty(y.shape)
    for fold in range(FOLDS):
        rest, held_out = folds != fold, folds == fold
        try:
            model = train(np.concatenate([X[rest], more_X]), np.concatenate([y[rest], more_y]))
        except OstrakaError:
            return None
        predicted[held_out] = predict(model, X[held_out])
    return measure(y, predicted)
