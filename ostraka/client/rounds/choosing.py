"""Choice of the records that the next round asks about."""

from collections.abc import Collection
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ostraka.common.task import Task

Floats: TypeAlias = NDArray[np.float64]


def at_random(features: NDArray[np.float32], count: int, seed: int) -> tuple[int, ...]:
    """`count` rows of a pool, or all there are, drawn from a public seed, in rising order.

    Of rows with equal features, (N, F), only one is drawn.
    """
    return _of_equals_one(np.random.default_rng(seed).permutation(len(features)), features, count)


def expected_errors(probabilities: NDArray[np.float64], task: Task, labels: tuple[int, ...]) -> Floats:
    """Return how many labels of each record a student expects to get wrong, (N,).

    Args:
        probabilities: of each class, (N, classes), or of each label of a multi-label task by itself.
        task: of the records.
        labels: those that count, by index; none stands for all.
    """
    if not task.multi_label:
        least_probable: Floats = 1 - probabilities.max(axis=1)
        return least_probable
    chosen = probabilities[:, list(labels)] if labels else probabilities
    total: Floats = np.minimum(chosen, 1 - chosen).sum(axis=1)
    return total


def least_sure(
    errors: Floats, features: NDArray[np.float32], excluded: Collection[int], count: int
) -> tuple[int, ...]:
    """Return the `count` rows, or all that were not asked, of which a student expects to get most wrong.

    Args:
        errors: expected of each record of the pool, (N,).
        features: of these records, (N, F); of equal ones only the first is chosen, as teachers would say the
            same of all and each would be paid for.
        excluded: rows that were asked before; that teachers did not agree on some of them was paid for
            already.
        count: how many to choose.
    """
    rows = np.setdiff1d(np.arange(len(errors)), list(excluded))
    return _of_equals_one(rows[np.argsort(-errors[rows], kind="stable")], features, count)


def _of_equals_one(order: NDArray[np.int64], features: NDArray[np.float32], count: int) -> tuple[int, ...]:
    """Return the first `count` rows of an order that have no equal before them, in rising order."""
    first: dict[bytes, int] = {}
    for row in order.tolist():
        first.setdefault((features[row] + 0.0).tobytes(), row)
    return tuple(sorted(list(first.values())[:count]))
