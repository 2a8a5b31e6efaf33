from pathlib import Path

import numpy as np
import pytest

from ostraka.common.datasets import from_arrays
from ostraka.common.task import infer_task
from ostraka.deploy.simulation import quality
from ostraka.services.teachers.ensemble import Ensemble


class Voters:
    """Teachers whose votes are given."""

    def __init__(self, votes: object) -> None:
        self.votes = np.array(votes)

    def predict(self, X: np.ndarray) -> np.ndarray:
        assert len(X) == self.votes.shape[1]
        return self.votes


def given(monkeypatch: pytest.MonkeyPatch, votes: dict[str, object]) -> list[Path]:
    monkeypatch.setattr(Ensemble, "load", lambda folder: Voters(votes[folder.parent.name]))
    return [Path(site) for site in votes]


def test_the_plurality_of_all_teachers_is_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    test = from_arrays(np.arange(6.0).reshape(3, 2), np.array([0, 1, 2]), source="test")
    sites = given(monkeypatch, {"a": [[0, 1, 1], [0, 1, 1]], "b": [[1, 2, 2]]})
    metrics = quality.ensemble_metrics(sites, infer_task(test, "test"), test)
    assert metrics.accuracy == pytest.approx(2 / 3)
    assert metrics.labels[0].auc == 1.0


def test_a_label_is_predicted_from_half_of_all_teachers_on(monkeypatch: pytest.MonkeyPatch) -> None:
    test = from_arrays(np.arange(4.0).reshape(2, 2), np.array([[0, 1], [1, 1]]), source="test")
    sites = given(monkeypatch, {"a": [[[0.9, 0.5], [0.5, 0.4]]], "b": [[[0.1, 0.6], [0.7, 0.2]]]})
    metrics = quality.ensemble_metrics(sites, infer_task(test, "test"), test)
    assert [label.accuracy for label in metrics.labels] == [0.5, 0.5]


def test_teachers_are_asked_about_a_sample_of_many_records_that_the_seed_decides() -> None:
    records = quality.MAX_TESTED + 500
    X, y = np.arange(2.0 * records).reshape(records, 2), np.arange(records) % 3
    test = from_arrays(X, y, source="test")
    first, again, other = (quality.sample_tested(test, seed) for seed in (1, 1, 2))
    assert len(first) == quality.MAX_TESTED
    assert np.array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)
    rows = first.X[:, 0].astype(int) // 2
    assert len(set(rows)) == len(rows)
    assert np.array_equal(first.labels(), y[rows])


def test_teachers_are_asked_about_all_of_few_records() -> None:
    test = from_arrays(np.arange(6.0).reshape(3, 2), np.array([0, 1, 2]), source="test")
    assert quality.sample_tested(test, 0) is test
