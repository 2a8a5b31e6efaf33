"""The model that every party trains."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin

from benchmarks.dpsgd.measures import YES

REGULARISATION = 100.0  # inverse weight of squared coefficients: parties have few records of most labels
STEPS = 40  # maximum steps of L-BFGS: more take longer


class Linear(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Logistic regression of all labels at once, on features scaled by its training records.

    With class_weight "balanced", a label's yes and no have equal total weights; a label that is constant in
    the records gets that value as its score. For a single label (N,), the probabilities are of no and yes.
    """

    def __init__(self, class_weight: str | None = None) -> None:
        """Take "balanced", or None for equal weights of all records."""
        self.class_weight = class_weight

    def fit(self, X: NDArray[np.float32], y: NDArray[np.int64]) -> Self:
        """Fit records (N, F) with labels 0/1 (N, k), or (N,)."""
        self.classes_ = np.arange(2)
        self.single_ = y.ndim == 1
        y = y.reshape(len(y), -1)
        self.mean_ = X.mean(axis=0)
        deviation = X.std(axis=0)
        self.deviation_ = np.where(deviation > 0, deviation, 1)
        self.constant_ = np.where(y.min(axis=0) == y.max(axis=0), y[0], -1)
        scaled = self._scale(X)
        weights = self._weights(y)
        shape = (scaled.shape[1], y.shape[1])

        def objective(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            coefficients = flat.reshape(shape)
            logits = scaled @ coefficients
            loss = (weights * (np.logaddexp(0, logits) - y * logits)).sum()
            gradient = scaled.T @ (weights * (expit(logits) - y))
            free = coefficients[:-1]
            gradient[:-1] += REGULARISATION * free
            return float(loss + REGULARISATION / 2 * (free**2).sum()), gradient.ravel()

        start = np.zeros(shape[0] * shape[1])
        found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
        self.coefficients_ = found.x.reshape(shape)
        return self

    def predict_proba(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return each label's probability, (Q, k)."""
        scores = self._scores(X)
        return np.concatenate([1 - scores, scores], axis=1) if self.single_ else scores

    def predict(self, X: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return 0 or 1 for each label, (Q, k) or (Q,)."""
        yes: NDArray[np.int64] = (self._scores(X) >= YES).astype(np.int64)
        return yes[:, 0] if self.single_ else yes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _scores(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        found = expit(self._scale(X) @ self.coefficients_)
        scores: NDArray[np.float64] = np.where(self.constant_ < 0, found, self.constant_)
        return scores

    def _scale(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        scaled = (X - self.mean_) / self.deviation_
        augmented: NDArray[np.float64] = np.column_stack([scaled, np.ones(len(X))])
        return augmented

    def _weights(self, y: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return each record's weight for each label, (N, k); the weights of one label sum to N."""
        if self.class_weight is None:
            return np.ones(y.shape)
        ones = y.sum(axis=0)
        held = np.where(y == 1, ones, len(y) - ones)
        weights: NDArray[np.float64] = len(y) / (2 * held)
        return weights


def linear(shape: tuple[int, ...], classes: int) -> Linear:
    """Return an untrained model, with the signature that `ostraka.services.teachers` expects."""
    return Linear()
