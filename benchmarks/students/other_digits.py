"""Votes on public digits from another source, to estimate the votes of MNIST's teachers."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.published import DATA
from benchmarks.students.votes import histograms
from ostraka.services.teachers import TrainingConfig
from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.fitting import fit_networks
from ostraka.services.teachers.guard import VoteGuard
from ostraka.services.teachers.nets import Networks

OPTDIGITS = DATA / "optdigits.npz"
TEACHERS = 250  # as many as for MNIST
RECORDS = 240  # per teacher; there are 3,823, so teachers share some
CLASSES = 10
"""Digits."""
_SEED = 7  # any value; constant, so the cache stays valid
_SHADES = 16  # maximum pixel value of optdigits
_SHAPE = (8, 8)


@dataclass(frozen=True)
class Expected:
    """Histograms and true classes.

    Attributes:
        votes: (Q, classes), int64.
        y: (Q,), int64.
    """

    votes: NDArray[np.int64] = field(repr=False)
    y: NDArray[np.int64] = field(repr=False)


def load_or_vote(cache: Path) -> Expected:
    """Return the votes of teachers of optdigits' training records on its test records, cached in a folder."""
    file = cache / "other-digits-votes.npy"
    with np.load(OPTDIGITS) as arrays:
        X, y, test, test_y = (arrays[name] for name in ("X_train", "y_train", "X_test", "y_test"))
    if not file.exists():
        cast = _cast(_scale(X).reshape(-1, *_SHAPE), y.astype(np.int64), _scale(test))
        cache.mkdir(parents=True, exist_ok=True)
        np.save(file, histograms(cast, CLASSES))
    return Expected(np.load(file), test_y.astype(np.int64))


def _cast(X: NDArray[np.float32], y: NDArray[np.int64], test: NDArray[np.float32]) -> NDArray[np.int64]:
    random = np.random.default_rng(0)
    chosen = [random.choice(len(y), RECORDS, replace=False) for _ in range(TEACHERS)]
    slices = [Slice(X[rows], y[rows], (_SEED, teacher)) for teacher, rows in enumerate(chosen)]
    config = TrainingConfig(teachers=TEACHERS)
    nets = fit_networks(slices, "cnn", CLASSES, config, lambda done, total: None)
    return np.asarray(Networks.of("cnn", _SHAPE, nets).predict(test, VoteGuard(CLASSES)), np.int64)


def _scale(X: NDArray[np.uint8]) -> NDArray[np.float32]:
    return X.reshape(len(X), -1).astype(np.float32) / np.float32(_SHADES)
