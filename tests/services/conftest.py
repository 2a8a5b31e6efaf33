from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ostraka.common.datasets import Dataset, digits, from_arrays
from ostraka.common.task import infer_task, write_task
from ostraka.services.teachers import TrainingConfig, train
from tests.services.wire import TEACHERS, Federation, federation


def symptoms(records: int, labels: int = 5, seed: int = 0, shape: tuple[int, ...] = (6,)) -> Dataset:
    """Return multi-label records whose labels are half-spaces; label 1 is always no, label 2 always yes."""
    X = np.random.default_rng(seed).normal(size=(records, *shape))
    sides = np.random.default_rng(99).normal(size=(X[0].size, labels))
    y = (X.reshape(records, -1) @ sides > 0.3).astype(int)
    y[:, 1:3] = 0, 1
    return from_arrays(X, y)


def _trained(folder: Path, data: Dataset, model: str) -> Path:
    task = infer_task(data, folder.name)
    write_task(task, folder / "task.toml")
    config = TrainingConfig(teachers=TEACHERS, model=model)
    train(data, task, config, seed=1).save(folder / "teachers")
    return folder


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with task.toml and three teachers of scikit-learn's digits."""
    return _trained(tmp_path_factory.mktemp("trained"), digits(), "logistic_regression")


@pytest.fixture(scope="session")
def trained_labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with task.toml and three teachers of a multi-label task."""
    return _trained(tmp_path_factory.mktemp("labels"), symptoms(150), "logistic_regression")


@pytest.fixture
def attica(tmp_path: Path, trained: Path) -> Iterator[Federation]:
    with federation(tmp_path, trained) as made:
        yield made


@pytest.fixture
def clinics(tmp_path: Path, trained_labels: Path) -> Iterator[Federation]:
    """Yield a federation with a multi-label task."""
    with federation(tmp_path, trained_labels) as made:
        yield made
