"""The measured models: of noisy sums, and those that they are compared with."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.dpsgd.learning import Training, dpsgd
from benchmarks.sums.data import Split
from ostraka.client.learners.choice import LEARNERS, choose
from ostraka.client.learners.fit import LearnerName
from ostraka.client.sums.local import LocalSums
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy.gaussian import gaussian_budget
from ostraka.common.sums.questions import Rows

DELTA = 1e-5  # below one over the records of any set
AUTO = "auto"
PENALTY = 0.3  # C of logistic regression on the few own records
RIDGE = 3.0  # for numbers
EPOCHS = 10  # of DP-SGD
BATCHES = 10  # of an epoch


def mu_of(epsilon: float) -> float:
    """Return mu of a budget, by the exact conversion."""
    return math.sqrt(2 * gaussian_budget(epsilon, DELTA))


def fit_sums(split: Split, name: str, epsilon: float, seed: int) -> tuple[Any, LearnerName]:
    """Return a model of noisy sums over the private records, and its learner; `auto` chooses one."""
    mu = mu_of(epsilon)
    chosen = choose(split.problem, mu).name if name == AUTO else _learner_name(name)
    learner = LEARNERS[chosen]
    plan = learner.plan(split.problem, mu)
    rows = Rows(np.zeros((len(split.X), 0), np.float32), split.X, split.y)
    source = LocalSums(rows, plan.sigmas, np.random.default_rng(seed))
    return learner.fit(split.problem, plan, source).model, chosen


def _learner_name(name: str) -> LearnerName:
    found = next((learner for learner in LEARNERS if learner == name), None)
    if found is None:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"There is no learner {name}: name one of {', '.join((*LEARNERS, AUTO))}.",
        )
    return found


def fit_plain(X: NDArray[np.floating], y: NDArray[np.number], *, number: bool) -> Any:
    """Return a linear model of records without any privacy."""
    from sklearn.linear_model import LogisticRegression, Ridge

    if number:
        return Ridge(RIDGE).fit(X, y)
    if y.ndim == 1:
        return LogisticRegression(C=PENALTY, max_iter=200).fit(X, y)
    return EachLabel([LogisticRegression(C=PENALTY, max_iter=200) for _ in range(y.shape[1])]).fit(X, y)


class EachLabel:
    """A logistic regression per label; a label that is constant in the records stays constant."""

    def __init__(self, models: list[Any]) -> None:
        """Take untrained models."""
        self.models = models
        self.constants: dict[int, float] = {}

    def fit(self, X: NDArray[np.floating], y: NDArray[np.number]) -> "EachLabel":
        """Train each model whose label is not constant."""
        for label, model in enumerate(self.models):
            column = y[:, label]
            if len(np.unique(column)) == 1:
                self.constants[label] = float(column[0])
            else:
                model.fit(X, column)
        return self

    def predict_proba(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the probability of each label."""
        columns = [
            np.full(len(X), self.constants[label])
            if label in self.constants
            else model.predict_proba(X)[:, 1]
            for label, model in enumerate(self.models)
        ]
        return np.stack(columns, axis=1)


class Central:
    """A linear model by central DP-SGD over the private records: for a record that is present or absent."""

    def __init__(self, split: Split, epsilon: float, seed: int) -> None:
        """Train it on rows of norm at most 1, scaled by the pool."""
        scale = self._scale(split)
        self.center, self.length = scale
        batch = max(1, len(split.X) // BATCHES)
        self.trained = dpsgd(
            self._map(split.X),
            split.y.astype(np.int64),
            epsilon,
            DELTA,
            classes=split.problem.outputs,
            training=Training(epochs=EPOCHS, batch=batch, rate=1.0),
            seed=seed,
        )

    @staticmethod
    def _scale(split: Split) -> tuple[NDArray[np.floating], float]:
        pool = split.problem.pool
        if pool is None:
            raise ValueError("a pool is needed")
        center = pool.mean(axis=0)
        return center, float(np.quantile(np.linalg.norm(pool - center, axis=1), 0.75))

    def _map(self, X: NDArray[np.floating]) -> NDArray[np.float32]:
        return ((X - self.center) / self.length).astype(np.float32)

    def predict_proba(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return probabilities of classes, or of labels."""
        return self.trained.predict_proba(self._map(X))

    def predict(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the most probable class."""
        likeliest: NDArray[np.int64] = self.predict_proba(X).argmax(axis=1)
        return likeliest
