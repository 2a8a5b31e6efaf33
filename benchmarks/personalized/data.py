"""MNIST and Adult, divided as in Mühl and Boenisch 2022: private, public and test records."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.published import DATA

SEED = 3  # any value; constant, so the cache stays valid
SMALL = "-small"
"""Suffix of a dataset's name for a few records, to check that everything runs."""


@dataclass(frozen=True)
class Records:
    """Labelled records.

    Attributes:
        X: float32, shape (N, *shape), values in [0, 1].
        y: class indices, int64, shape (N,).
    """

    X: NDArray[np.float32]
    y: NDArray[np.int64]


@dataclass(frozen=True)
class Split:
    """The records of one dataset: teachers learn from the private ones and label the public ones."""

    private: Records
    public: Records
    test: Records


@dataclass(frozen=True)
class Parameters:
    """Mühl and Boenisch 2022, Table 2, and the teachers' model.

    Attributes:
        teachers: number of teachers without upsampling.
        classes: number of classes.
        public: number of public records.
        test: number of test records.
        threshold: of the check, in votes.
        sigma1: deviation of the check's noise, in votes.
        sigma2: deviation of the labels' noise, in votes.
        model: as in `ostraka.services.teachers.config.TrainingConfig`.
        private: number of private records; None: all others.
    """

    teachers: int
    classes: int
    public: int
    test: int
    threshold: float
    sigma1: float
    sigma2: float
    model: str
    private: int | None = None


PARAMETERS: Mapping[str, Parameters] = {
    "mnist": Parameters(250, 10, 9000, 1000, 200.0, 150.0, 40.0, "cnn"),
    "adult": Parameters(250, 2, 7000, 1000, 300.0, 200.0, 40.0, "benchmarks.personalized.forest:forest"),
    "mnist-small": Parameters(250, 10, 500, 200, 200.0, 150.0, 40.0, "logistic", private=5000),
    "adult-small": Parameters(250, 2, 500, 200, 300.0, 200.0, 40.0, "logistic", private=5000),
}
DELTA = 1e-5  # of every epsilon in docs/personalized.md


def path(dataset: str) -> Path:
    """Return the path of the dataset's file in ../shared/data beside the checkout."""
    return DATA / f"{dataset.removesuffix(SMALL)}.npz"


def load(dataset: str) -> Split:
    """Return the dataset's records, shuffled by a fixed seed and divided as in Table 2."""
    every = _READERS[dataset.removesuffix(SMALL)](path(dataset))
    sizes = PARAMETERS[dataset]
    order = np.random.default_rng(SEED).permutation(len(every.y))
    ends = [sizes.test, sizes.test + sizes.public]
    test, public, private = (Records(every.X[rows], every.y[rows]) for rows in np.split(order, ends))
    return Split(Records(private.X[: sizes.private], private.y[: sizes.private]), public, test)


def _mnist(file: Path) -> Records:
    with np.load(file) as arrays:
        X = np.concatenate([arrays["X_train"], arrays["X_test"]])
        y = np.concatenate([arrays["y_train"], arrays["y_test"]])
    return Records(X.astype(np.float32) / np.float32(255), y.astype(np.int64))


def _adult(file: Path) -> Records:
    """Read the records without missing values, with integer-coded categories, columns scaled to [0, 1]."""
    with np.load(file) as arrays:
        X = np.concatenate([arrays["X_train"], arrays["X_test"]])
        y = np.concatenate([arrays["y_train"], arrays["y_test"]])
        names = [str(name).partition("_")[0] for name in arrays["feature_names"]]
    whole = np.ones(len(y), dtype=bool)
    columns = []
    for name in dict.fromkeys(names):
        indicators = X[:, [other == name for other in names]]
        if indicators.shape[1] == 1:
            columns.append(indicators[:, 0])
        else:
            whole &= indicators.sum(axis=1) == 1
            columns.append(indicators.argmax(axis=1))
    values = np.stack(columns, axis=1)[whole].astype(np.float32)
    low = values.min(axis=0)
    high = values.max(axis=0)
    scaled: NDArray[np.float32] = (values - low) / (high - low)
    return Records(scaled, y[whole].astype(np.int64))


_READERS: Mapping[str, Callable[[Path], Records]] = {"mnist": _mnist, "adult": _adult}
