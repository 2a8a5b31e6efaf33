from pathlib import Path

import numpy as np
import pytest

from benchmarks import train_adult, trained
from ostraka.services.teachers import TrainingConfig
from tests.services.teachers.conftest import blobs

FOREST = f"{train_adult.__name__}:{train_adult.forest.__name__}"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(trained, "DATA", tmp_path)
    records = blobs(150)
    private, test = records.take(slice(90)), records.take(slice(90, None))
    np.savez(
        tmp_path / "small.npz",
        X_train=private.X,
        y_train=private.labels(),
        X_test=test.X,
        y_test=test.labels(),
    )
    return tmp_path


def test_without_the_file_nothing_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trained, "DATA", tmp_path)
    assert trained.measure("small.npz", TrainingConfig(teachers=3), 0) is None


@pytest.mark.heavy
@pytest.mark.parametrize("model", ["logistic", FOREST])
def test_an_ensemble_is_trained_saved_and_tested(data: Path, model: str) -> None:
    found = trained.measure("small.npz", TrainingConfig(teachers=3, model=model), 0)
    assert found is not None
    assert (found.teachers, found.records) == (3, 90)
    assert found.plurality > 0.9
    assert found.plurality >= found.single > 0.8
    assert f"3 teachers on 90 records: {found.seconds:.0f} s" in found.sentence


def test_forests_have_as_many_trees_as_the_paper_has() -> None:
    assert train_adult.forest((4,), 3).n_estimators == 100
