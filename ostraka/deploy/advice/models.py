"""Models of records without noise: from own records alone, from released labels, and from all records."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.client.fitting.accuracy import RIDGE
from ostraka.client.learners.problem import Kind
from ostraka.client.students.models import is_learnable, probabilities, train, train_constant
from ostraka.deploy.advice.attempts import Attempt, Clock, Predict, measure_model
from ostraka.deploy.advice.splits import Split

FOREST_RECORDS = 30
"""Number of records from which a forest is tried in addition to a linear model."""
TREES = 30
"""Fewer than in teachers' forests: ten more gain a tenth of a point and take a third longer."""


def fit_linear(kind: Kind, outputs: int, X: NDArray[np.float32], y: NDArray[Any]) -> Predict:
    """Return the model of Ostraka's own students: logistic regressions, or a ridge regression."""
    if kind == "number":
        from sklearn.linear_model import Ridge

        return Ridge(RIDGE).fit(X, y).predict  # type: ignore[no-any-return]
    student = (
        train("logistic_regression", X, y, standardize=False) if is_learnable(y) else train_constant(X, y)
    )
    return lambda rows: probabilities(student, rows, outputs)


def fit_forest(kind: Kind, outputs: int, X: NDArray[np.float32], y: NDArray[Any]) -> Predict:
    """Return a forest, which finds what a linear model misses."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    if kind == "number":
        return RandomForestRegressor(TREES, random_state=0).fit(X, y).predict  # type: ignore[no-any-return]
    fitted = RandomForestClassifier(TREES, random_state=0).fit(X, y)
    return lambda rows: probabilities(fitted, rows, outputs)


def say_most_frequent(split: Split) -> Predict:
    """Return a predictor of the most frequent class or value, or the mean number, of all sites."""
    records = split.records
    _, y = split.take(split.private)
    if records.kind == "number":
        return lambda rows: np.full(len(rows), float(y.mean()))
    if records.kind == "labels":
        shares = y.mean(axis=0)
        return lambda rows: np.tile(shares, (len(rows), 1))
    counts = np.bincount(y, minlength=records.task.outputs) / len(y)
    return lambda rows: np.tile(counts, (len(rows), 1))


def try_without_noise(split: Split) -> Iterator[Attempt]:
    """Yield the ways without epsilon: the most frequent class, own records alone, and all records."""
    yield _attempt(split, "nothing", "most frequent", say_most_frequent(split), Clock())
    kind = split.records.kind
    outputs = split.records.task.outputs
    for way, rows in (("own", split.own), ("pooled", np.concatenate([split.own, split.private]))):
        X, y = split.take(rows)
        if not len(X):
            continue
        clock = Clock()
        yield _attempt(split, way, "linear", fit_linear(kind, outputs, X, y), clock)
        if len(X) >= FOREST_RECORDS and kind != "labels":
            clock = Clock()
            yield _attempt(split, way, "forest", fit_forest(kind, outputs, X, y), clock)


def _attempt(split: Split, way: Any, variant: str, predict: Predict, clock: Clock) -> Attempt:
    return Attempt(way, variant, None, measure_model(split, predict), seconds=clock.seconds())
