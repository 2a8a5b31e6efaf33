"""Models of records without noise: of own records alone, of released labels, and of all records together."""

import warnings
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
"""Own ones, from which a forest is tried beside a linear model."""
BOOSTED_RECORDS = 300
"""Of all sites, from which boosting is tried beside a linear model."""
TREES = 50
"""As teachers' forests have."""
MAX_BOOSTED_OUTPUTS = 10
"""Classes or labels of which boosting trains trees for each: more take long, and are only a bound."""


def fit_linear(kind: Kind, outputs: int, X: NDArray[np.float32], y: NDArray[Any]) -> Predict:
    """Return the model that Ostraka's own students are: logistic regressions, or a ridge regression."""
    if kind == "number":
        from sklearn.linear_model import Ridge

        return Ridge(RIDGE).fit(X, y).predict  # type: ignore[no-any-return]
    student = train("logistic_regression", X, y, standardize=False) if is_learnable(y) else train_constant(X, y)
    return lambda rows: probabilities(student, rows, outputs)


def fit_trees(kind: Kind, outputs: int, X: NDArray[np.float32], y: NDArray[Any], *, boosted: bool) -> Predict:
    """Return a forest, or boosted trees."""
    from sklearn import ensemble
    from sklearn.multioutput import MultiOutputClassifier

    if kind == "number":
        regressor = (
            ensemble.HistGradientBoostingRegressor(random_state=0)
            if boosted
            else ensemble.RandomForestRegressor(TREES, random_state=0)
        )
        return regressor.fit(X, y).predict  # type: ignore[no-any-return]
    classifier = (
        ensemble.HistGradientBoostingClassifier(random_state=0)
        if boosted
        else ensemble.RandomForestClassifier(TREES, random_state=0)
    )
    if kind == "classes":
        fitted = classifier.fit(X, y)
        return lambda rows: probabilities(fitted, rows, outputs)
    fitted = MultiOutputClassifier(classifier).fit(X, y)
    return lambda rows: probabilities(fitted, rows, outputs)


def say_most_frequent(split: Split) -> Predict:
    """Return what always says the most frequent class or value, or the mean number, of all sites."""
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
    """Yield what costs no epsilon: the most frequent class, own records alone, and all records together."""
    yield _attempt(split, "nothing", "most frequent", say_most_frequent(split), Clock())
    kind = split.records.kind
    outputs = split.records.task.outputs
    X, y = split.take(split.own)
    if len(X):
        clock = Clock()
        yield _attempt(split, "own", "linear", fit_linear(kind, outputs, X, y), clock)
        if len(X) >= FOREST_RECORDS and kind != "labels" and (kind == "number" or is_learnable(y)):
            clock = Clock()
            yield _attempt(split, "own", "forest", fit_trees(kind, outputs, X, y, boosted=False), clock)
    X, y = split.take(np.concatenate([split.own, split.private]))
    clock = Clock()
    yield _attempt(split, "pooled", "linear", fit_linear(kind, outputs, X, y), clock)
    if len(X) >= BOOSTED_RECORDS and kind != "labels" and outputs <= MAX_BOOSTED_OUTPUTS:
        clock = Clock()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            boosted = fit_trees(kind, outputs, X, y, boosted=True)
        yield _attempt(split, "pooled", "boosted", boosted, clock)


def _attempt(split: Split, way: Any, variant: str, predict: Predict, clock: Clock) -> Attempt:
    return Attempt(way, variant, None, measure_model(split, predict), seconds=clock.seconds())
