"""How good an ensemble is."""

import numpy as np
from numpy.typing import NDArray


def accuracy(votes: NDArray[np.int64], y: NDArray[np.int64], classes: int) -> float:
    """Share of queries whose plurality of votes (teachers, Q) is y (Q,); ties go to the lower class."""
    counts = np.stack([(votes == label).sum(axis=0) for label in range(classes)])
    return float((counts.argmax(axis=0) == y).mean())
