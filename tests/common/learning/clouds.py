"""Records that are easy to classify, few of them labelled."""

import numpy as np
from numpy.typing import NDArray

from ostraka.common.learning.data import Labelled
from ostraka.common.learning.learning import Learning

SHORT = Learning(steps=40, batch_size=16, unlabeled_ratio=2, evaluations=4, device="cpu")
CLASSES = 3


def clouds(records: int, seed: int = 0, features: int = 6) -> Labelled:
    """Draw records of three classes around three centres, on one scale."""
    random = np.random.default_rng(seed)
    y = np.arange(records) % CLASSES
    centres = np.random.default_rng(99).normal(0, 1, (CLASSES, features))
    X = centres[y] + random.normal(0, 0.3, (records, features))
    return Labelled(X.astype(np.float32), y)


def labels(records: int, seed: int = 0) -> Labelled:
    """Return the same records with three labels that encode the class, with some unknown labels."""
    single = clouds(records, seed)
    y = np.eye(CLASSES, dtype=np.int64)[single.y]
    y[np.arange(0, records, 7), 1] = -1
    return Labelled(single.X, y)


def accuracy(likely: NDArray[np.float32], y: NDArray[np.int64]) -> float:
    """Return the share of records whose largest value is that of their class."""
    return float((likely.argmax(axis=1) == y).mean())
