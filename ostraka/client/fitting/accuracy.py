"""Accuracy of a model of sums, compared with a model of own records and with the most frequent class or
mean."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.client.learners.fit import Model
from ostraka.client.learners.problem import OwnRecords
from ostraka.client.students.evaluation import Measured, Records, Trainer, cross_validate, test_student
from ostraka.client.students.models import is_learnable, train_constant
from ostraka.client.students.trainers import Choice, trainer
from ostraka.common.estimators.sum_models import SumRegressor
from ostraka.common.learning.gain import Gain, Interval, interval, samples
from ostraka.common.task import Task

BY_TEST = "test records"
BY_OWN = "own records, which joined the model"
UNMEASURED = "records: none given"
RIDGE = 1.0
"""Penalty of a regression on own numbers alone: scikit-learn's default, for features from 0 to 1."""


@dataclass(frozen=True)
class NumberFigures:
    """Figures of predicted numbers, each with its interval.

    Attributes:
        r2: explained share of the variance: 1 minus the ratio of squared errors to those of the mean.
        mean_absolute_error: in the units of the target.
        r2_over_own: how much more is explained than by own records alone, on the same resampled records; None
            if there is no comparison.
        covered: share of records whose number is within the predicted 90% interval; None if there is no
            interval.
    """

    r2: Interval
    mean_absolute_error: Interval
    r2_over_own: Interval | None = None
    covered: Interval | None = None


@dataclass(frozen=True)
class Accuracy:
    """Accuracy of a model.

    Attributes:
        measured_on: which records, in words.
        measured: number of these records.
        own: figures of the model of own records alone, None if there is none.
        model: figures of the model; None if it was not measured.
        gain: for classes and labels, the improvement over the most frequent class, and over own records
            alone.
    """

    measured_on: str
    measured: int
    own: Any
    model: Any
    gain: Gain | None

    def as_json(self) -> dict[str, Any]:
        """Return the accuracy as JSON types."""
        return asdict(self)


def measure_model(model: Model, task: Task, own: OwnRecords | None, test: OwnRecords | None) -> Accuracy:
    """Measure a model on test records, else on own records.

    The model of own records alone is measured on the same records, in the second case by cross-validation.
    """
    shown = test if test is not None and len(test) else own
    if shown is None or not len(shown):
        return Accuracy(UNMEASURED, 0, None, None, None)
    measured_on = BY_OWN if shown is own else BY_TEST
    if isinstance(model, SumRegressor):
        alone = _predict_alone(own, test)
        y = np.asarray(shown.y, np.float64)
        figures = None if alone is None else measure_numbers(y, alone)
        found = measure_numbers(y, model.predict(shown.X), alone)
        if np.isfinite(model.half_width_):
            found = replace(found, covered=_measure_coverage(y, model.predict_interval(shown.X)))
        return Accuracy(measured_on, len(shown), figures, found, None)
    after = test_student(model, _as_classes(shown), task.classes)
    before = _measure_alone(task, own, test)
    return Accuracy(
        measured_on,
        len(shown),
        None if before is None else before.metrics,
        after.metrics,
        after.gain_over(before),
    )


def measure_numbers(
    y: NDArray[np.float64], predicted: NDArray[np.float64], alone: NDArray[np.float64] | None = None
) -> NumberFigures:
    """Return the figures of predicted numbers (n,), with a bootstrap over records.

    `alone` are the predictions of own records alone.
    """
    r2, error = _resample(y, predicted)
    over_own = None if alone is None else interval(r2 - _resample(y, alone)[0])
    return NumberFigures(interval(r2), interval(error), over_own)


def _measure_coverage(y: NDArray[np.float64], ends: NDArray[np.float64]) -> Interval:
    """Return the share of numbers (n,) between their ends (n, 2), with a bootstrap over records."""
    within = np.asarray((ends[:, 0] <= y) & (y <= ends[:, 1]), np.float64)
    return interval(np.concatenate([weights @ within / len(y) for weights in samples(len(y))]))


def _resample(
    y: NDArray[np.float64], predicted: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return R^2 and the mean absolute error on all records, then on resampled ones."""
    drawn = [_number_figures(weights, y, predicted) for weights in samples(len(y))]
    r2, error = (np.concatenate([part[place] for part in drawn]) for place in (0, 1))
    return r2, error


def _number_figures(
    weights: NDArray[np.float64], y: NDArray[np.float64], predicted: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return R^2 and the mean absolute error in each sample (S, n) of weights; R^2 of equal numbers is 0."""
    total = weights.sum(axis=1)
    mean = weights @ y / total
    spread = np.maximum(weights @ y**2 / total - mean**2, 0.0)
    squares = weights @ (y - predicted) ** 2 / total
    explained = 1 - np.divide(squares, spread, out=np.ones_like(squares), where=spread > 0)
    return explained, weights @ np.abs(y - predicted) / total


def _as_classes(records: OwnRecords) -> Records:
    """Return records whose labels are classes, or several labels, as students take them."""
    return np.asarray(records.X, np.float32), np.asarray(records.y, np.int64)


def _measure_alone(task: Task, own: OwnRecords | None, test: OwnRecords | None) -> Measured | None:
    """Measure the student of own records alone: on test records, else by cross-validation."""
    if own is None or not len(own):
        return None
    alone: Trainer = trainer(Choice(), task, None, seed=0)
    records = _as_classes(own)
    if test is None or not len(test):
        return cross_validate(alone, records, task.classes, "own")
    student = alone(records, "own") if is_learnable(records[1]) else train_constant(*records)
    return test_student(student, _as_classes(test), task.classes)


def _predict_alone(own: OwnRecords | None, test: OwnRecords | None) -> NDArray[np.float64] | None:
    """Predict by a ridge regression on own records alone: for test records, else by cross-validation."""
    from sklearn.model_selection import KFold, cross_val_predict

    from ostraka.client.students.evaluation import FOLDS

    if own is None or len(own) < FOLDS:
        return None
    if test is not None and len(test):
        predicted: NDArray[np.float64] = plain_regression().fit(own.X, own.y).predict(test.X)
        return predicted
    folds = KFold(FOLDS, shuffle=True, random_state=0)
    held_out: NDArray[np.float64] = cross_val_predict(plain_regression(), own.X, own.y, cv=folds)
    return held_out


def plain_regression() -> Any:
    """Return an untrained scikit-learn regression on numbers, without privacy."""
    from sklearn.linear_model import Ridge

    return Ridge(RIDGE)
