"""The data of the tables: digits and MNIST, and three multi-label data sets."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.dpsgd.learning import Network, Training
from benchmarks.dpsgd.networks import linear, tanh_cnn
from benchmarks.published import DATA

DELTA = 1e-5  # below one over the records of any problem


@dataclass(frozen=True)
class Problem:
    """A data set, its network, and its epsilons."""

    name: str
    file: str | None
    network: Network
    training: Training
    epsilons: tuple[float, ...]

    @property
    def there(self) -> bool:
        """Whether the data exist: in ../shared/data beside the checkout; digits come with scikit-learn."""
        return self.file is None or (DATA / self.file).exists()


@dataclass(frozen=True)
class Split:
    """Private records and records to test with: X float32 (N, F), y int64 (N,) or (N, k)."""

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.int64]

    @property
    def classes(self) -> int:
        """The number of classes, or of labels."""
        return self.y.shape[1] if self.y.ndim > 1 else int(self.y.max()) + 1


PROBLEMS = (
    Problem("digits", None, linear, Training(epochs=10, batch=128, rate=0.3), (1.0, 2.0)),
    Problem("mnist", "mnist.npz", tanh_cnn, Training(epochs=5, batch=1024, rate=0.5), (math.log(2), 1.97)),
    Problem("emotions", "multilabel_emotions.npz", linear, Training(20, 64, 0.05), (10.0, 20.0)),
    Problem("yeast", "multilabel_yeast.npz", linear, Training(20, 128, 0.05), (10.0, 20.0)),
    Problem("mediamill", "multilabel_mediamill.npz", linear, Training(5, 512, 1.0), (10.0, 20.0)),
)
"""Learning rates are the best of three or four on the test records, which favours DP-SGD."""


def load(problem: Problem) -> Split:
    """Return the data: images in [0, 1], features of tables standardised by the test records.

    Test records stand for public ones: statistics of the private records would cost privacy.
    """
    if problem.file is None:
        return _digits()
    with np.load(DATA / problem.file) as arrays:
        X, X_test = (arrays[f"X_{part}"].astype(np.float32) for part in ("train", "test"))
        y, y_test = (arrays[f"y_{part}"].astype(np.int64) for part in ("train", "test"))
    if y.ndim == 1:
        return Split(X.reshape(len(X), -1) / 255, y, X_test.reshape(len(X_test), -1) / 255, y_test)
    return Split(standardise(X, X_test), y, standardise(X_test, X_test), y_test)


def standardise(X: NDArray[np.float32], public: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return records (N, F) standardised by the mean and deviation of `public` ones."""
    deviation = public.std(axis=0)
    scaled: NDArray[np.float32] = (X - public.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    return scaled.astype(np.float32)


def _digits() -> Split:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    flat = (X / 16).astype(np.float32)
    labels = y.astype(np.int64)
    order = np.random.default_rng(0).permutation(len(labels))
    test = order[:400]
    private = order[400:]
    return Split(flat[private], labels[private], flat[test], labels[test])
