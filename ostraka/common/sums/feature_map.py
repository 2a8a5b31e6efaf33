"""The public map from a record's features to a vector of norm at most 1, of which sums are computed."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
UNBINNED: Floats = np.empty(0)
"""In place of cut points: a feature stays the number that it is."""


MIN_VALUE = 2.0**-400
"""Below it a value counts as 0: products of two are then normal numbers, which take a processor no longer
than others do, and squares keep their digits (docs/sums.md)."""


def flush(values: Floats) -> Floats:
    """Return values with 0 in place of those below `MIN_VALUE`."""
    return np.where(np.abs(values) < MIN_VALUE, 0.0, values)


def clip_rows(rows: Floats) -> Floats:
    """Return rows (n, d) scaled down to norm 1 where they are longer; a row with a NaN or infinity becomes 0.

    A row of values that are not numbers would make a whole sum none. Norms are at most 1 + (d + 8) 2^-53.
    """
    finite = np.isfinite(rows).all(axis=1, keepdims=True)
    usable = np.where(finite, rows, 0.0)
    # Divided by the largest value first: squares of large numbers overflow.
    largest = np.maximum(np.abs(usable).max(axis=1, initial=0.0), 1.0)
    scaled = usable / largest[:, None]
    return flush(scaled / np.maximum(np.linalg.norm(scaled, axis=1), 1.0)[:, None])


@dataclass(frozen=True)
class FeatureMap:
    """x -> (clip((f(x) - center) / scale) * sqrt(1 - constant^2), constant); f stretches or bins numbers.

    Attributes:
        center: (m,), what is taken away from f(x).
        scale: what it is divided by, above 0, before it is clipped to norm 1.
        constant: what stands behind it, from 0 to below 1: it counts the records, and learns an intercept.
        cuts: for each feature its cut points in rising order; a feature with any becomes a 1 in one of
            len + 1 bins (the first holds what is below the first cut), one with none stays as it is. Empty:
            no feature has any.
        low: for each feature the end that becomes 0, where it has no cuts; empty: none is stretched. What
            lies beyond an end counts as it: a range that few records fill would leave them all alike.
        high: the end that becomes 1, above `low`.
    """

    center: Floats = field(repr=False)
    scale: float
    constant: float = 0.3
    cuts: tuple[Floats, ...] = field(default=(), repr=False)
    low: Floats = field(default_factory=lambda: UNBINNED, repr=False)
    high: Floats = field(default_factory=lambda: UNBINNED, repr=False)

    @property
    def columns(self) -> int:
        """Values of a mapped record, d."""
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
    """Return f(X), (n, m), as `FeatureMap` says."""
    if not cuts:
        return X
    parts = []
    for feature, edges in enumerate(cuts):
        column = X[:, feature]
        parts.append(one_hot(find_bins(column, edges), len(edges) + 1) if len(edges) else column[:, None])
    return np.hstack(parts)


def find_bins(values: Floats, cuts: Floats) -> NDArray[np.intp]:
    """Return the bin of each value (n,): how many of the rising `cuts` are at most that large."""
    return np.searchsorted(cuts, values, side="right")


def one_hot(places: NDArray[np.integer[Any]], width: int) -> Floats:
    """Return rows (n, width) with a 1 at each of the `places` (n,)."""
    rows = np.zeros((len(places), width))
    rows[np.arange(len(places)), places] = 1.0
    return rows
