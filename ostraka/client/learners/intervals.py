"""Intervals of predicted numbers, from the errors of own records under models that did not use them."""

import math

import numpy as np

from ostraka.common.sums.feature_map import Floats

LEVEL = 0.9
"""Share of records whose number is within the interval: nine of ten, which few own records can estimate."""
MIN_DISTANCES = math.ceil(LEVEL / (1 - LEVEL) - 1e-9)
"""Minimum of own records: the largest of 9 errors is exceeded by one in ten."""


def conformal_half_width(errors: Floats) -> float:
    """Return the half-width that covers `LEVEL` of further records (split conformal: Lei et al. 2018).

    Args:
        errors: (n,), differences between records and predictions that did not use them.

    Returns:
        The ceil((n + 1) LEVEL)-th smallest error; infinity for fewer than `MIN_DISTANCES` records.
    """
    rank = math.ceil((len(errors) + 1) * LEVEL - 1e-9)
    if rank > len(errors):
        return math.inf
    return float(np.sort(np.abs(errors))[rank - 1])
