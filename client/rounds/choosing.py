"""Which records of a pool the next round asks about."""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray


def at_random(size: int, count: int, seed: int) -> tuple[int, ...]:
    """`count` rows of a pool of `size`, or all there are, drawn from a public seed, in rising order."""
    drawn = np.random.default_rng(seed).permutation(size)[:count]
    return tuple(sorted(drawn.tolist()))


def least_sure(probabilities: NDArray[np.float64], asked: Collection[int], count: int) -> tuple[int, ...]:
    """The `count` rows, or all that were not asked, whose likeliest class has least probability.

    Args:
        probabilities: a student's of each record of the pool, (N, classes).
        asked: rows that were asked before; that teachers did not agree on some of them was paid for already.
        count: how many to choose.
    """
    rows = np.setdiff1d(np.arange(len(probabilities)), list(asked))
    sure = probabilities[rows].max(axis=1)
    return tuple(sorted(rows[np.argsort(sure, kind="stable")[:count]].tolist()))
