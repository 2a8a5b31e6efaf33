"""Models made from noisy sums, as estimators of scikit-learn that can be stored in files."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from ostraka.common.sums.feature_map import FeatureMap, Floats
from ostraka.common.sums.questions import AdditiveModel, AdditiveTerm, sigmoid, softmax

POSITIVE = 0.5
"""Probability from which a label is predicted."""


# Both contain plain arrays and have no defaults: skops stores only attributes, and an attribute of an
# instance must not be one of its class (soundness.py).
@dataclass(frozen=True)
class LinearScores:
    """Scores of mapped records: the fields of `FeatureMap`, and the weights (d, k)."""

    center: Floats = field(repr=False)
    scale: float
    constant: float
    cuts: tuple[Floats, ...] = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    weights: Floats = field(repr=False)

    def __call__(self, X: NDArray[np.floating]) -> Floats:
        """Return scores (n, k) of records (n, F)."""
        feature_map = FeatureMap(self.center, self.scale, self.constant, self.cuts, self.low, self.high)
        scores: Floats = feature_map(X) @ self.weights
        return scores

    @classmethod
    def of(cls, feature_map: FeatureMap, weights: Floats) -> Self:
        """Return the scores for a map and these weights."""
        return cls(
            feature_map.center,
            feature_map.scale,
            feature_map.constant,
            feature_map.cuts,
            feature_map.low,
            feature_map.high,
            weights,
        )


@dataclass(frozen=True)
class AdditiveScores:
    """Scores that are sums over features: `AdditiveModel`'s intercept, and its terms' fields as tuples."""

    intercept: Floats = field(repr=False)
    features: tuple[int, ...] = field(repr=False)
    indicators: tuple[int, ...] = field(repr=False)
    cuts: tuple[Floats, ...] = field(repr=False)
    values: tuple[Floats, ...] = field(repr=False)

    def __call__(self, X: NDArray[np.floating]) -> Floats:
        """Return scores (n, k) of records (n, F)."""
        terms = zip(self.features, self.cuts, self.values, self.indicators, strict=True)
        return AdditiveModel(self.intercept, tuple(AdditiveTerm(*term) for term in terms)).scores(X)

    @classmethod
    def of(cls, model: AdditiveModel) -> Self:
        """Return the scores of an additive model."""
        return cls(
            model.intercept,
            tuple(term.feature for term in model.terms),
            tuple(term.indicators for term in model.terms),
            tuple(term.cuts for term in model.terms),
            tuple(term.values for term in model.terms),
        )


Scores = LinearScores | AdditiveScores


class SumClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classes, or several labels, from scores.

    Attributes:
        scores_: scores of prepared records.
        slope_: factor on scores.
        intercepts_: (k,), added afterwards: the result is a logit of one of two classes or of each label, or
            of a softmax over classes.
        classes_: indices of the classes, or of the labels.
        multi_label_: whether each label is predicted separately.
        n_features_in_: number of features of a record.
    """

    def take(
        self,
        scores: Scores,
        slope: float,
        intercepts: Floats,
        *,
        features: int,
        outputs: int,
        multi_label: bool,
    ) -> Self:
        """Become the model of these scores, and return it."""
        self.scores_ = scores
        self.slope_ = slope
        self.intercepts_ = intercepts
        self.classes_ = np.arange(outputs)
        self.multi_label_ = multi_label
        self.n_features_in_ = features
        return self

    def decision_function(self, X: NDArray[np.floating]) -> Floats:
        """Return the logits (n, k) of records (n, F)."""
        logits: Floats = self.scores_(X) * self.slope_ + self.intercepts_
        return logits

    def predict_proba(self, X: NDArray[np.floating]) -> Floats:
        """Return the probability (n, classes) of each class, or of each label separately."""
        logits = self.decision_function(X)
        if self.multi_label_:
            return sigmoid(logits)
        if logits.shape[1] == 1:
            positive = sigmoid(logits)
            return np.hstack([1 - positive, positive])
        return softmax(logits)

    def predict(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the likeliest class (n,), or 1 for each label with at least one half (n, labels)."""
        probabilities = self.predict_proba(X)
        if self.multi_label_:
            return (probabilities >= POSITIVE).astype(np.int64)
        likeliest: NDArray[np.int64] = probabilities.argmax(axis=1)
        return likeliest


class SumRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A number from a score.

    Attributes:
        scores_: scores of prepared records, one each.
        center_: the number at a score of 0.
        scale_: how much the number rises per unit of the score.
        low_: the smallest prediction: the lower end of the target's range.
        high_: the largest prediction: the upper end of that range.
        half_width_: maximum distance of most numbers from their prediction; infinite if unknown.
        n_features_in_: number of features of a record.
    """

    def take(
        self,
        scores: Scores,
        center: float,
        scale: float,
        *,
        features: int,
        low: float,
        high: float,
        half_width: float,
    ) -> Self:
        """Become the model of these scores, and return it."""
        self.scores_ = scores
        self.center_ = center
        self.scale_ = scale
        self.low_ = low
        self.high_ = high
        self.half_width_ = half_width
        self.n_features_in_ = features
        return self

    def predict(self, X: NDArray[np.floating]) -> Floats:
        """Return the number (n,) of each record (n, F)."""
        numbers: Floats = np.clip(self.center_ + self.scale_ * self.scores_(X)[:, 0], self.low_, self.high_)
        return numbers

    def predict_interval(self, X: NDArray[np.floating]) -> Floats:
        """Return the ends (n, 2) between which nine of ten numbers lie, for records (n, F).

        They were found on labelled records of the querying party that were not used for the model, and are
        valid for records from the same distribution. If those were too few, the ends are those of the
        target's range.
        """
        said = self.predict(X)
        ends = np.stack([said - self.half_width_, said + self.half_width_], axis=1)
        return np.clip(ends, self.low_, self.high_)


SUM_MODELS: frozenset[type] = frozenset({SumClassifier, SumRegressor})
SUM_SCORES: tuple[Any, ...] = (LinearScores, AdditiveScores)
