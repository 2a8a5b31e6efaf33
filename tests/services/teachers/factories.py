"""Factories that a party's configuration would name."""

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler
from torch import Tensor, nn

HERE = __name__
not_callable = 3


def dropout(shape: tuple[int, ...], classes: int) -> nn.Module:
    return nn.Sequential(
        nn.Flatten(), nn.Linear(int(np.prod(shape)), 8), nn.Dropout(0.2), nn.ReLU(), nn.Linear(8, classes)
    )


def wrong_shape(shape: tuple[int, ...], classes: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(int(np.prod(shape)), classes + 1))


def picky(shape: tuple[int, ...], classes: int) -> nn.Module:
    return nn.Conv2d(1, classes, 3)


def nothing(shape: tuple[int, ...], classes: int) -> None:
    return None


def fails(shape: tuple[int, ...], classes: int) -> nn.Module:
    raise RuntimeError("secret record 17")


class Untrainable(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(1, classes)

    def forward(self, X: Tensor) -> Tensor:
        if self.training:
            raise RuntimeError("secret record 17")
        return self.linear(X.flatten(1)[:, :1])  # type: ignore[no-any-return]


def untrainable(shape: tuple[int, ...], classes: int) -> nn.Module:
    return Untrainable(classes)


class Exploding(nn.Module):
    def __init__(self, features: int, classes: int, factor: float) -> None:
        super().__init__()
        self.linear = nn.Linear(features, classes)
        self._factor = factor

    def forward(self, X: Tensor) -> Tensor:
        logits: Tensor = self.linear(X.flatten(1))
        return logits * self._factor if self.training else logits


def exploding(shape: tuple[int, ...], classes: int) -> nn.Module:
    return Exploding(int(np.prod(shape)), classes, float("inf"))


def unlucky(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Fails with infinite values if its first draw is large."""
    factor = float("inf") if float(torch.rand(1)) > 0.6 else 1.0
    return Exploding(int(np.prod(shape)), classes, factor)


class Mortal(nn.Module):
    """Kills the process that trains it, once, if the file KILL_ONCE exists."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, X: Tensor) -> Tensor:
        order = os.environ.get("KILL_ONCE")
        if self.training and order and Path(order).exists():
            Path(order).unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.net(X)  # type: ignore[no-any-return]


def mortal(shape: tuple[int, ...], classes: int) -> nn.Module:
    return Mortal(dropout(shape, classes))


def counted(shape: tuple[int, ...], classes: int) -> Any:
    """Record every call in a file, and at the requested call end the process like a kill."""
    with Path(os.environ["CALLS"]).open("a") as calls:
        calls.write(".")
        calls.flush()
        if calls.tell() == int(os.environ.get("KILLED_AT", "0")):
            os.kill(os.getpid(), signal.SIGKILL)
    return LogisticRegression()


def boosted(shape: tuple[int, ...], classes: int) -> Any:
    return make_pipeline(StandardScaler(), HistGradientBoostingClassifier(max_iter=10, min_samples_leaf=3))


def staged(shape: tuple[int, ...], classes: int) -> Any:
    return GradientBoostingClassifier(n_estimators=5)


def bayes(shape: tuple[int, ...], classes: int) -> Any:
    return GaussianNB()


def picky_bayes(shape: tuple[int, ...], classes: int) -> Any:
    """Return a model that cannot be fitted if a record is negative."""
    return MultinomialNB()


def picky_constant(shape: tuple[int, ...], classes: int) -> Any:
    """Return a model that cannot be fitted if a record is negative; it predicts the last of three classes."""
    return MultinomialNB(class_prior=[1e-99, 1e-99, 1.0])


def no_zeros(shape: tuple[int, ...], classes: int) -> Any:
    """Return a model that is fitted to positive records, and accepts no others later."""
    return make_pipeline(PowerTransformer("box-cox"), GaussianNB())


class Homemade(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Not a type of scikit-learn, so not trusted."""

    def fit(self, X: NDArray[np.float32], y: NDArray[np.int64]) -> "Homemade":
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: NDArray[np.float32]) -> NDArray[np.int64]:
        return np.full(len(X), self.classes_[-1])


def homemade(shape: tuple[int, ...], classes: int) -> Any:
    return Homemade()
