"""The public map from a record's features to a vector of norm at most 1, from which sums are computed."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
UNBINNED: Floats = np.empty(0)
"""Used instead of cut points: the feature remains a number."""


MIN_VALUE = 2.0**-400
"""A value below it counts as 0.

Products of two values are then normal numbers, which take a processor no longer than others, and squares keep
their digits (docs/sums.md).
"""


def flush(values: Floats) -> Floats:
    """Return values with those below `MIN_VALUE` replaced by 0."""
    return np.where(np.abs(values) < MIN_VALUE, 0.0, values)


def clip_rows(rows: Floats) -> Floats:
    """Return rows (n, d), with longer ones scaled down to norm 1; a row with a NaN or infinity becomes 0.

    Otherwise a row with values that are not numbers would spoil the whole sum. Norms are at most 1 + (d + 8)
    2^-53.
    """
    finite = np.isfinite(rows).all(axis=1, keepdims=True)
    usable = np.where(finite, rows, 0.0)
    # Divided by the largest value first, because squares of large numbers overflow.
    largest = np.maximum(np.abs(usable).max(axis=1, initial=0.0), 1.0)
    scaled = usable / largest[:, None]
    return flush(scaled / np.maximum(np.linalg.norm(scaled, axis=1), 1.0)[:, None])


@dataclass(frozen=True)
class FeatureMap:
    """x -> (clip((f(x) - center) / scale) * sqrt(1 - constant^2), constant); f stretches or bins numbers.

    Attributes:
        center: (m,), subtracted from f(x).
        scale: divisor, above 0, applied before clipping to norm 1.
        constant: last value, from 0 to below 1: it counts the records, and allows an intercept to be learned.
        cuts: for each feature its cut points in ascending order. A feature with cuts becomes a 1 in one of
            len + 1 bins (the first contains values below the first cut); a feature without cuts stays as it
            is. Empty: no feature has any.
        low: for each feature without cuts the value that becomes 0; empty: no feature is stretched. Values
            beyond an end count as that end, because a range that few records fill would make them all alike.
        high: the value that becomes 1, above `low`.
    """

    center: Floats = field(repr=False)
    scale: float
    constant: float = 0.3
    cuts: tuple[Floats, ...] = field(default=(), repr=False)
    low: Floats = field(default_factory=lambda: UNBINNED, repr=False)
    high: Floats = field(default_factory=lambda: UNBINNED, repr=False)

    @property
    def columns(self) -> int:
        """Number of values of a mapped record, d."""
        return len(self.center) + 1

    def __call__(self, X: NDArray[Any]) -> Floats:
        """Return the mapped records (n, d), each of norm at most 1, of prepared features (n, F)."""
        centred = (self.spread(X) - self.center) / self.scale
        rest = math.sqrt(1 - self.constant**2)
        return np.hstack([clip_rows(centred) * rest, np.full((len(X), 1), self.constant)])

    def spread(self, X: NDArray[Any]) -> Floats:
        """Return f(X), (n, m), of prepared features (n, F)."""
        features = np.asarray(X, np.float64)
        if not len(self.low):
            return bin_features(features, self.cuts)
        stretched = np.clip((features - self.low) / (self.high - self.low), 0.0, 1.0)
        if not self.cuts:
            return stretched
        binned = np.array([len(edges) > 0 for edges in self.cuts])
        return bin_features(np.where(binned, features, stretched), self.cuts)


def bin_features(X: Floats, cuts: tuple[Floats, ...]) -> Floats:
    """Return f(X), (n, m), as described in `FeatureMap`."""
    if not cuts:
        return X
    parts = []
    for feature, edges in enumerate(cuts):
        column = X[:, feature]
        parts.append(one_hot(find_bins(column, edges), len(edges) + 1) if len(edges) else column[:, None])
    return np.hstack(parts)


def find_bins(values: Floats, cuts: Floats) -> NDArray[np.intp]:
    """Return the bin of each value (n,): how many of the ascending `cuts` are at most as large."""
    return np.searchsorted(cuts, values, side="right")


def one_hot(places: NDArray[np.integer[Any]], width: int) -> Floats:
    """Return rows (n, width) with a 1 at each of the `places` (n,)."""
    rows = np.zeros((len(places), width))
    rows[np.arange(len(places)), places] = 1.0
    return rows
