from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ostraka.common.datasets import digits
from ostraka.common.task import infer_task, write_task
from ostraka.services.teachers import TrainingConfig, train
from tests.services.conftest import symptoms
from tests.services.wire import TEACHERS, Federation, federation

ENCODINGS = ("plain", "ckks", "ckks-square")


def encrypted(made: Federation, encodings: Sequence[str] = ENCODINGS) -> None:
    made.replan(encoding="ckks", ring_bits=32)
    made.set_policy(encodings=encodings)


@pytest.fixture(scope="session")
def linear(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with task.toml and three linear teachers of scikit-learn's digits."""
    return _trained(tmp_path_factory.mktemp("linear"), TrainingConfig(teachers=TEACHERS, head="linear"))


@pytest.fixture(scope="session")
def square(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the same with networks that square."""
    config = TrainingConfig(teachers=TEACHERS, head="square-mlp")
    return _trained(tmp_path_factory.mktemp("square"), config)


@pytest.fixture(scope="session")
def squares_by_products(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the same with networks that square, evaluated by products of features."""
    config = TrainingConfig(teachers=TEACHERS, head="square")
    return _trained(tmp_path_factory.mktemp("products"), config)


@pytest.fixture(scope="session")
def linear_labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with three linear teachers of a multi-label task."""
    folder, data = tmp_path_factory.mktemp("linear-labels"), symptoms(150)
    task = infer_task(data, "labels")
    write_task(task, folder / "task.toml")
    train(data, task, TrainingConfig(teachers=TEACHERS, head="linear"), seed=1).save(folder / "teachers")
    return folder


@pytest.fixture
def attica(tmp_path: Path, linear: Path) -> Iterator[Federation]:
    with federation(tmp_path, linear) as made:
        encrypted(made)
        yield made


@pytest.fixture
def squares(tmp_path: Path, square: Path) -> Iterator[Federation]:
    with federation(tmp_path, square) as made:
        encrypted(made)
        yield made


@pytest.fixture
def clinics(tmp_path: Path, linear_labels: Path) -> Iterator[Federation]:
    with federation(tmp_path, linear_labels) as made:
        encrypted(made)
        yield made


def _trained(folder: Path, config: TrainingConfig) -> Path:
    task = infer_task(digits(), "digits")
    write_task(task, folder / "task.toml")
    train(digits(), task, config, seed=1).save(folder / "teachers")
    return folder
