import numpy as np
import pytest

from ostraka.common.datasets import Dataset, from_arrays
from ostraka.common.task import Task, infer_task


def blobs(records: int, seed: int = 0, shape: tuple[int, ...] = (4,)) -> Dataset:
    """Draw records of three classes around three centres."""
    random = np.random.default_rng(seed)
    y = np.arange(records) % 3
    centres = np.random.default_rng(99).uniform(-1, 1, (3, *shape))
    return from_arrays(centres[y] + random.normal(0, 0.2, (records, *shape)), y)


@pytest.fixture
def records() -> Dataset:
    return blobs(120)


@pytest.fixture
def task(records: Dataset) -> Task:
    return infer_task(records, "blobs")
