"""Lookup of records by their features, which all sites know; labels are not used."""

import hashlib
from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


class Known:
    """Records by their features; the nth of several equal records is found by the nth equal row."""

    def __init__(self, X: NDArray[np.float32]) -> None:
        """Take the features (N, F) of all records, prepared as the task says."""
        self._places = {key: place for place, key in enumerate(_keys(X))}

    def find(self, X: NDArray[np.float32]) -> NDArray[np.int64]:
        """Find the record for each row of `X` (Q, F): int64 (Q,), none of them twice; -1 for no record.

        Features are equal if all numbers are equal; -0.0 equals 0.0.
        """
        return np.fromiter((self._places.get(key, -1) for key in _keys(X)), dtype=np.int64, count=len(X))


def _keys(X: NDArray[np.float32]) -> Iterator[tuple[bytes, int]]:
    """Yield the SHA-256 of each row's features, and how many equal rows came before."""
    seen: Counter[bytes] = Counter()
    for row in X + np.float32(0):
        digest = hashlib.sha256(row.tobytes()).digest()
        yield digest, seen[digest]
        seen[digest] += 1
