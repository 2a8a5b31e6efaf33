"""Labels randomised by their holders: label differential privacy, where features may be public."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.deploy.advice.attempts import Attempt, Clock, measure_model
from ostraka.deploy.advice.models import fit_linear
from ostraka.deploy.advice.splits import Split


def try_randomised(split: Split, epsilon: float) -> Attempt | None:
    """Return a linear model of all features and randomised labels; None for records of several labels.

    A class is kept with probability e^epsilon / (e^epsilon + classes - 1), else replaced by another at random
    (Warner 1965); a number gets Laplace noise of its range by epsilon.
    """
    records = split.records
    if records.kind == "labels":
        return None
    clock = Clock()
    random = np.random.default_rng([split.seed, round(1e6 * epsilon)])
    X, y = split.take(split.private)
    said = _randomise(y, epsilon, records.task.outputs, records.task.target, random)
    own_X, own_y = split.take(split.own)
    predict = fit_linear(
        records.kind, records.task.outputs, np.concatenate([own_X, X]), np.concatenate([own_y, said])
    )
    return Attempt(
        "randomised labels", "", epsilon, measure_model(split, predict), len(said), clock.seconds()
    )


def _randomise(
    y: NDArray[Any], epsilon: float, classes: int, target: Any, random: np.random.Generator
) -> NDArray[Any]:
    if target is not None:
        noisy: NDArray[Any] = y + random.laplace(0, (target.max - target.min) / epsilon, len(y))
        return noisy
    kept = random.random(len(y)) < 1 / (1 + (classes - 1) * math.exp(-epsilon))
    others = (y + random.integers(1, classes, len(y))) % classes
    return np.where(kept, y, others)
