"""Accuracy of teachers on the public records."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.personalized.cells import RARE


@dataclass(frozen=True)
class Quality:
    """Average of teachers, and their plurality.

    Attributes:
        teachers: number of teachers.
        accuracy: of one teacher.
        plurality: accuracy of the class with most votes.
        precision: fraction of a teacher's votes for the rarer class of Adult that are right.
        recall: fraction of that class's records that a teacher votes for.
    """

    teachers: int
    accuracy: float
    plurality: float
    precision: float
    recall: float


def quality(votes: NDArray[np.uint8], y: NDArray[np.int64]) -> Quality:
    """Return the quality of votes (teachers, Q) on records of classes `y` (Q,)."""
    counts = np.stack([(votes == label).sum(axis=0) for label in range(y.max() + 1)])
    said = votes == RARE
    true = y == RARE
    hits = (said & true).sum(axis=1)
    return Quality(
        teachers=len(votes),
        accuracy=float((votes == y).mean()),
        plurality=float((counts.argmax(axis=0) == y).mean()),
        precision=float((hits / np.maximum(said.sum(axis=1), 1)).mean()),
        recall=float((hits / true.sum()).mean()),
    )
