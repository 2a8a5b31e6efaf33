"""Baselines for students: the parties' teachers, asked without any privacy."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ostraka.client.students.accuracy import Metrics, measure
from ostraka.common.datasets import Dataset
from ostraka.common.sharing.ballots import YES
from ostraka.common.task import Task
from ostraka.services.teachers.config import TEACHERS
from ostraka.services.teachers.ensemble import Ensemble

MOST_TESTED = 2000
"""Test records that all teachers are asked about: a vote of each costs as much as many students' answers."""


def sampled(test: Dataset, seed: int) -> Dataset:
    """Return the test records that teachers are asked about: all, or `MOST_TESTED` drawn by the seed."""
    if len(test) <= MOST_TESTED:
        return test
    rows = np.random.default_rng(seed).choice(len(test), MOST_TESTED, replace=False)
    return test.take(np.sort(rows))


def ensemble_metrics(parties: Sequence[Path], task: Task, test: Dataset) -> Metrics:
    """Figures of all teachers of these sites together on test records, their votes counted without noise.

    A class or label scores the share of teachers that vote for it, so that the plurality is predicted; ties
    go to the first class. A simulation may look at these votes, and nobody else.
    """
    X = task.prepare(test.X)
    shares = [_votes(Ensemble.load(site / TEACHERS).predict(X), task) for site in parties]
    return measure(test.labels(), np.concatenate(shares).mean(axis=0), task.classes)


def _votes(predicted: NDArray[np.float32] | NDArray[np.int64], task: Task) -> NDArray[np.bool_]:
    """Which classes each teacher votes for, (teachers, records, classes)."""
    if task.multi_label:
        return np.greater_equal(predicted, YES)
    return np.equal(predicted[..., None], np.arange(len(task.classes)))
