"""Private records for teachers, a public pool, and test records for students."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchmarks.students.settings import MNIST, Setting
from ostraka.common.datasets import digits, load_splits
from ostraka.common.datasets.dataset import Dataset
from ostraka.common.task import Task, infer_task

_PRIVATE_DIGITS = 1000  # of 1,797; the others are pool and test


@dataclass(frozen=True)
class Division:
    """The records of a setting; the pool's labels are only used to count right labels.

    Attributes:
        task: of all records.
        private: the teachers' records.
        pool: prepared features of public records, float32 (P, F).
        pool_y: their true classes, int64 (P,).
        test: prepared features, float32 (T, F).
        test_y: true classes, int64 (T,).
    """

    task: Task
    private: Dataset = field(repr=False)
    pool: NDArray[np.float32] = field(repr=False)
    pool_y: NDArray[np.int64] = field(repr=False)
    test: NDArray[np.float32] = field(repr=False)
    test_y: NDArray[np.int64] = field(repr=False)


def divide(setting: Setting) -> Division:
    """Return the setting's records, in the order of their file."""
    private, public = _splits(setting)
    task = infer_task(private, setting.dataset)
    X = task.prepare(public.X)
    y = public.labels()
    pool = setting.pool
    return Division(task, private, X[:pool], y[:pool], X[pool:], y[pool:])


def _splits(setting: Setting) -> tuple[Dataset, Dataset]:
    if setting.dataset == "mnist":
        return load_splits(MNIST)
    records = digits()
    return records.take(slice(_PRIVATE_DIGITS)), records.take(slice(_PRIVATE_DIGITS, None))
