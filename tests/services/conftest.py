from collections.abc import Iterator
from pathlib import Path

import pytest

from common.datasets import digits
from common.task import infer_task, write_task
from services.teachers import TrainingConfig, train
from tests.services.wire import TEACHERS, Federation, federation


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with task.toml and three teachers of scikit-learn's digits."""
    folder, data = tmp_path_factory.mktemp("trained"), digits()
    task = infer_task(data, "digits")
    write_task(task, folder / "task.toml")
    config = TrainingConfig(teachers=TEACHERS, model="logistic_regression")
    train(data, task, config, seed=1).save(folder / "teachers")
    return folder


@pytest.fixture
def attica(tmp_path: Path, trained: Path) -> Iterator[Federation]:
    with federation(tmp_path, trained) as made:
        yield made
