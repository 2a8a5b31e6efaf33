"""Accuracy metrics of an ensemble."""

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.services.teachers.guard import Votes


def accuracy(votes: Votes, y: NDArray[np.int64], classes: int) -> float:
    """Share of queries whose plurality of votes (teachers, Q) is y (Q,); ties go to the lower class."""
    counts = np.stack([(votes == label).sum(axis=0) for label in range(classes)])
    return float((counts.argmax(axis=0) == y).mean())


def label_accuracy(scores: Votes, y: NDArray[np.int64]) -> float:
    """Share of the known labels y (Q, k) that most teachers' scores (teachers, Q, k) give.

    A score is positive from 0.5; where half of the teachers say so the label is not given.
    """
    positives = (scores >= np.float32(0.5)).sum(axis=0)
    return float(np.equal(2 * positives > len(scores), y)[y != UNKNOWN].mean())
