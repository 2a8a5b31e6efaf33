"""Updates of teachers in whole lattice steps, unclipped or clipped."""

import numpy as np
from numpy.typing import NDArray

from ostraka.common.learning.record_gradients import STEPS, WITHIN
from ostraka.common.mechanism.ttac import UPDATE_UNITS

Floats = NDArray[np.float64]
Steps = NDArray[np.int64]
MAX_COORDINATE = 2.0**12
"""Bound on a coordinate of an unclipped update: then the sum of 2^20 teachers fits a ring of 64 bits."""


def plain(update: Floats) -> Steps:
    """Return the steps of an update (d,) without protection; a coordinate that is not a number is 0."""
    numbers = np.nan_to_num(update, nan=0.0, posinf=0.0, neginf=0.0)
    cut = np.clip(numbers, -MAX_COORDINATE, MAX_COORDINATE)
    steps: Steps = np.rint(cut * UPDATE_UNITS * STEPS).astype(np.int64)
    return steps


def clip_update(update: Floats, radius: float) -> Steps:
    """Return the steps of an update (d,) in radii, clipped to one; their norm is at most `STEPS`.

    Rounding towards zero never increases the norm. An update that is not a number is 0.
    """
    norm = float(np.linalg.norm(update))
    if not 0 < norm < np.inf:
        return np.zeros(len(update), np.int64)
    factor = WITHIN * min(1 / radius, 1 / norm)
    steps: Steps = np.trunc(update * factor * STEPS).astype(np.int64)
    return steps
