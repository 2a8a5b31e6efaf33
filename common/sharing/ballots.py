"""Teachers' votes summed into a party's ballots."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from common.errors import ErrorCode, OstrakaError


def single_label(votes: NDArray[np.integer[Any]], classes: int) -> NDArray[np.int64]:
    """Counts the votes of a party's teachers.

    Args:
        votes: class indices, shape (teachers, queries).
        classes: number of classes k.

    Returns:
        Ballots of shape (queries, k), int64; every row sums to the number of teachers.

    Raises:
        OstrakaError: `model.invalid` where a teacher votes outside 0..k-1; the vote itself is not told.
    """
    cast = np.asarray(votes, dtype=np.int64)
    outside = (cast < 0) | (cast >= classes)
    if outside.any():
        raise OstrakaError(
            ErrorCode.MODEL_INVALID,
            f"Teacher {int(np.argmax(outside.any(axis=1)))} votes outside the task's {classes} classes: "
            "train it again with this task.",
        )
    queries = cast.shape[1]
    cells = cast + classes * np.arange(queries)
    return np.bincount(cells.ravel(), minlength=queries * classes).reshape(queries, classes)
