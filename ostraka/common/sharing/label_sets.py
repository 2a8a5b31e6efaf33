"""The order of label sets: by size, then as `itertools.combinations` lists them."""

from functools import lru_cache
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_SETS = 2**16
"""Maximum number of label sets that a ballot counts separately."""

_MAX_SETS = 2**62
"""Maximum of counts of sets, chosen so that the sum of two still fits into int64."""


def count_sets(labels: int, max_positives: int | None = None) -> int:
    """Return the number of sets of at most `max_positives` (None: any number) of `labels`; at most 2^62.

    The cap keeps the count fast for thousands of labels.
    """
    most = labels if max_positives is None else min(max_positives, labels)
    total = 0
    of_size = 1
    for size in range(most + 1):
        total += of_size
        if total >= _MAX_SETS:
            return _MAX_SETS
        of_size = of_size * (labels - size) // (size + 1)
    return total


def index_of(bits: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the indices, below 2^62, of label sets (..., k) given as bits."""
    labels = bits.shape[-1]
    sizes = bits.sum(axis=-1)
    left = sizes[..., None] - np.cumsum(bits, axis=-1) + bits
    after = _beginning(labels)[np.arange(labels), left]
    starts = np.concatenate([[0], _up_to(labels)])[sizes]
    place: NDArray[np.int64] = starts + np.where(bits | (left == 0), 0, after).sum(axis=-1)
    return place


def bits_of(index: NDArray[np.integer[Any]], labels: int) -> NDArray[np.bool_]:
    """Return the label sets with these indices (...), below 2^62, as bits (..., labels)."""
    places = np.asarray(index, dtype=np.int64)
    ends = _up_to(labels)
    left = np.searchsorted(ends, places, side="right")
    rest = places - np.concatenate([[0], ends])[left]
    bits = np.zeros((*places.shape, labels), dtype=np.bool_)
    beginning = _beginning(labels)
    for label in range(labels):
        starting = beginning[label, left]
        taken = (left > 0) & (rest < starting)
        bits[..., label] = taken
        rest = np.where(taken | (left == 0), rest, rest - starting)
        left = left - taken
    return bits


@lru_cache
def _up_to(labels: int) -> NDArray[np.int64]:
    """Return how many sets have at most 0, 1, ... `labels` positives; at most 2^62 each."""
    return np.array([min(count_sets(labels, size), _MAX_SETS) for size in range(labels + 1)])


@lru_cache
def _beginning(labels: int) -> NDArray[np.int64]:
    """Count the sets [label, left] of `left` labels that begin with `label`; at most 2^62 each."""
    table = np.zeros((labels, labels + 1), dtype=np.int64)
    for label in range(labels):
        for left in range(1, labels + 1):
            table[label, left] = min(comb(labels - label - 1, left - 1), _MAX_SETS)
    return table
