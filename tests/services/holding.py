"""Labelled records of one group, as a party without an encoder holds them."""

import numpy as np
from numpy.typing import NDArray

from ostraka.services.hosting.records import Records


def holding(
    X: NDArray[np.float32], y: NDArray[np.int64], cohorts: NDArray[np.int64], classes: int
) -> Records:
    return Records(X, y, cohorts, classes, groups=np.zeros(len(X), np.int64), codes=X, features=X)
