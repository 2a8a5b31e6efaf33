"""Public maps from records to vectors of norm at most 1, from the pool or only from the task's ranges."""

import numpy as np
from numpy.typing import NDArray

from ostraka.client.learners.problem import Problem
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sums.feature_map import UNBINNED, FeatureMap, Floats

CONSTANT = 0.3
"""The intercept feature of every mapped record. A larger one leaves less of the norm to the features."""
WITHIN = 0.75
"""Fraction of the pool that is not clipped: a smaller radius clips more, a larger one adds noise."""
ENDS = (0.02, 0.98)
"""Quantiles of the pool between which a column is scaled; values outside are clipped."""
EVEN_VARIANCE = 1 / 12
"""Variance of a feature that is uniform between 0 and 1."""


def make_map(problem: Problem, cuts: tuple[Floats, ...] = ()) -> FeatureMap:
    """Return the map, its center and scale from the pool if parties may learn them, else from the ranges.

    Raises `data.too_few` for a pool whose records are all equal.
    """
    if problem.told_pool is None:
        return _map_of_ranges(problem, cuts)
    low, high = find_ends(problem)
    unscaled = FeatureMap(np.zeros(0), 1.0, CONSTANT, cuts, low, high)
    spread = unscaled.spread(problem.told_pool)
    center = spread.mean(axis=0)
    scale = float(np.quantile(np.linalg.norm(spread - center, axis=1), WITHIN))
    if not scale > 0:
        raise all_the_same()
    return FeatureMap(center, scale, CONSTANT, cuts, low, high)


def all_the_same() -> OstrakaError:
    """Return the error for a pool whose records are all equal."""
    return OstrakaError(
        ErrorCode.DATA_TOO_FEW,
        "All or nearly all records of your pool are equal: give a pool of different records.",
    )


def find_ends(problem: Problem) -> tuple[Floats, Floats]:
    """Return for each feature of a table the range of nearly all of the pool; for images empty.

    A task's range covers everything possible, and a column with a few huge values would use little of it.
    """
    assert problem.told_pool is not None  # noqa: S101 - a map of the pool
    if problem.image:
        return UNBINNED, UNBINNED
    pool = np.asarray(problem.told_pool, np.float64)
    low, high = np.quantile(pool, ENDS, axis=0)
    same = low >= high
    low = np.where(same, pool.min(axis=0), low)
    high = np.where(same, pool.max(axis=0), high)
    # A constant column stays separate: it becomes 0, whatever the width.
    return low, np.where(low >= high, low + 1.0, high)


def _map_of_ranges(problem: Problem, cuts: tuple[Floats, ...]) -> FeatureMap:
    """Return the map for records that are uniform over the ranges and over the values of categories."""
    center = np.full(problem.features, 0.5)
    variance = np.full(problem.features, EVEN_VARIANCE)
    for category in problem.categories:
        place = slice(category.first, category.first + category.width)
        center[place] = 1 / category.width
        variance[place] = (1 - 1 / category.width) / category.width
    if cuts:
        widths = [len(edges) + 1 if len(edges) else 1 for edges in cuts]
        counts = np.repeat(widths, widths)
        binned = counts > 1
        center = np.where(binned, 1 / counts, np.repeat(center, widths))
        variance = np.where(binned, (1 - 1 / counts) / counts, np.repeat(variance, widths))
    return FeatureMap(center, float(np.sqrt(variance.sum())), CONSTANT, cuts)


def share_beyond(feature_map: FeatureMap, X: NDArray[np.floating]) -> float:
    """Return the fraction of records (n, F) that a map clips."""
    centred = feature_map.spread(X) - feature_map.center
    return float((np.linalg.norm(centred, axis=1) > feature_map.scale * (1 + 1e-9)).mean())
