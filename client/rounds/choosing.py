"""Choice of the records that the next round asks about."""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray


def at_random(features: NDArray[np.float32], count: int, seed: int) -> tuple[int, ...]:
    """`count` rows of a pool, or all there are, drawn from a public seed, in rising order.

    Of rows with equal features, (N, F), only one is drawn.
    """
    return _of_equals_one(np.random.default_rng(seed).permutation(len(features)), features, count)


def least_sure(
    probabilities: NDArray[np.float64], features: NDArray[np.float32], excluded: Collection[int], count: int
) -> tuple[int, ...]:
    """Return the `count` rows, or all that were not asked, whose likeliest class has least probability.

    Args:
        probabilities: a student's of each record of the pool, (N, classes).
        features: of these records, (N, F); of equal ones only the first is chosen, as teachers would say the
            same of all and each would be paid for.
        excluded: rows that were asked before; that teachers did not agree on some of them was paid for
            already.
        count: how many to choose.
    """
    rows = np.setdiff1d(np.arange(len(probabilities)), list(excluded))
    sure = probabilities[rows].max(axis=1)
    return _of_equals_one(rows[np.argsort(sure, kind="stable")], features, count)


def _of_equals_one(order: NDArray[np.int64], features: NDArray[np.float32], count: int) -> tuple[int, ...]:
    """Return the first `count` rows of an order that have no equal before them, in rising order."""
    first: dict[bytes, int] = {}
    for row in order.tolist():
        first.setdefault((features[row] + 0.0).tobytes(), row)
    return tuple(sorted(list(first.values())[:count]))
