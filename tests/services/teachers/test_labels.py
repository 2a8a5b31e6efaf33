"""Teachers of multi-label tasks."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
import torch
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from structlog.testing import capture_logs

from ostraka.common.datasets import Dataset, from_arrays
from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.estimators.fitting import fit_labels
from ostraka.common.learning.device import HOST
from ostraka.common.task import Task, infer_task
from ostraka.services.teachers import Ensemble, TrainingConfig, label_accuracy, train
from ostraka.services.teachers.assignment import slices
from ostraka.services.teachers.estimators import for_labels, label_scores
from ostraka.services.teachers.fitting import compose
from ostraka.services.teachers.guard import VoteGuard
from ostraka.services.teachers.nets import Networks
from tests.services.conftest import symptoms
from tests.services.teachers.factories import HERE

BUILT_IN = ("logistic", "mlp", "logistic_regression", "random_forest")


def config(model: str, **more: int) -> TrainingConfig:
    return TrainingConfig(teachers=4, model=model, **more)


@pytest.fixture(scope="module")
def records() -> Dataset:
    return symptoms(320)


@pytest.fixture(scope="module")
def task(records: Dataset) -> Task:
    return infer_task(records, "symptoms")


@pytest.mark.heavy
@pytest.mark.parametrize(
    "model",
    [
        *BUILT_IN,
        "xgboost",
        "lightgbm",
        f"{HERE}:bayes",
        f"{HERE}:dropout",
        f"{HERE}:boosted",
        f"{HERE}:staged",
    ],
)
def test_every_model_learns_labels_and_is_saved(
    records: Dataset, task: Task, model: str, tmp_path: Path
) -> None:
    ensemble = train(records, task, config(model), seed=0)
    fresh = symptoms(200, seed=1)
    scores = ensemble.predict(task.prepare(fresh.X))
    assert scores.shape == (4, 200, 5)
    assert scores.dtype == np.float32
    assert 0 <= scores.min() <= scores.max() <= 1
    assert label_accuracy(scores, fresh.labels()) > 0.85
    ensemble.save(tmp_path / "teachers")
    loaded = Ensemble.load(tmp_path / "teachers")
    assert loaded.manifest.multi_label
    assert np.array_equal(loaded.predict(task.prepare(fresh.X)), scores)


@pytest.mark.parametrize("model", BUILT_IN)
def test_a_label_that_never_changes_is_voted_as_it_is(records: Dataset, task: Task, model: str) -> None:
    scores = train(records, task, config(model), seed=0).predict(task.prepare(symptoms(200, seed=2).X))
    assert (scores[..., 1] < 0.5).all()
    assert (scores[..., 2] >= 0.5).all()


@pytest.mark.parametrize("model", BUILT_IN)
def test_one_record_a_teacher_is_enough(model: str) -> None:
    data = symptoms(4)
    task = infer_task(data, "few")
    scores = train(data, task, config(model), seed=0).predict(task.prepare(symptoms(9, seed=1).X))
    owners = [int(rows[0]) for rows in slices(4, 4, 0)]
    assert np.array_equal(scores[:, 0] >= 0.5, data.labels()[owners])
    assert ((scores >= 0.5) == (scores[:, :1] >= 0.5)).all()


@pytest.mark.heavy
def test_images_get_a_cnn_of_all_labels() -> None:
    lit = np.random.default_rng(0).integers(0, 2, (80, 4))
    data = from_arrays(np.kron(lit.reshape(80, 2, 2), np.ones((1, 4, 4))), lit)
    task = infer_task(data, "quadrants")
    ensemble = train(data, task, TrainingConfig(teachers=2, epochs=20), seed=0)
    assert ensemble.manifest.model == "cnn"
    assert label_accuracy(ensemble.predict(task.prepare(data.X)), data.labels()) > 0.95


@pytest.mark.heavy
@pytest.mark.parametrize("model", ["mlp", "logistic_regression", "random_forest"])
def test_one_changed_record_changes_one_teacher(records: Dataset, task: Task, model: str) -> None:
    y = records.labels().copy()
    y[17] = 1 - y[17]
    changed = from_arrays(records.X, y)
    asked = task.prepare(symptoms(300, seed=3).X)
    before, after = (
        train(data, task, config(model, epochs=2), seed=0).predict(asked) for data in (records, changed)
    )
    (owner,) = (teacher for teacher, rows in enumerate(slices(320, 4, 0)) if 17 in rows)
    assert [not np.array_equal(*pair) for pair in zip(before, after, strict=True)] == [
        teacher == owner for teacher in range(4)
    ]


@pytest.mark.parametrize("model", ["logistic", "mlp", "cnn"])
def test_stacked_networks_score_as_each_would_alone(model: str) -> None:
    nets = [compose(model, (8, 8), 5) for _ in range(7)]
    asked = np.random.default_rng(0).normal(size=(300, 64)).astype(np.float32)
    guard = VoteGuard(5, multi_label=True)
    together = Networks(nets, (8, 8), HOST, "stacked").predict(asked, guard)
    alone = Networks(nets, (8, 8), HOST, "loop").predict(asked, guard)
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_a_network_without_numbers_votes_for_no_label() -> None:
    nets = [compose("mlp", (4,), 3) for _ in range(3)]
    with torch.no_grad():
        next(nets[1].parameters()).fill_(float("nan"))
    asked = np.ones((5, 4), np.float32)
    guard = VoteGuard(3, multi_label=True)
    scores = Networks(nets, (4,), HOST, "stacked").predict(asked, guard)
    alone = Networks([nets[0], nets[2]], (4,), HOST, "loop").predict(asked, guard)
    assert not scores[1].any()
    np.testing.assert_allclose(scores[[0, 2]], alone, atol=1e-5)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -0.1, 1.5])
def test_a_vote_with_one_score_that_is_none_has_no_label(wrong: float) -> None:
    scores = np.full((2, 3, 4), 0.75)
    scores[1, 2, 3] = wrong
    asked = np.ones((3, 1), np.float32)
    votes = VoteGuard(4, multi_label=True).votes(lambda X: scores, asked, 2)
    expected = np.full((2, 3, 4), 0.75, np.float32)
    expected[1, 2] = 0
    assert votes.dtype == np.float32
    assert np.array_equal(votes, expected)


def test_a_failing_model_votes_for_no_label_and_is_told_of_once_without_data() -> None:
    def fail(X: NDArray[np.float32]) -> NDArray[np.float32]:
        if X.any():
            raise RuntimeError("secret record 17")
        return np.zeros((2, 1, 3), np.float32)

    guard, asked = VoteGuard(3, multi_label=True), np.ones((5, 1), np.float32)
    with capture_logs() as logs:
        first = guard.votes(fail, asked, 2)
        guard.votes(lambda X: np.ones((2, 5, 1) if X.any() else (2, 1, 3)), asked, 2)
    assert first.shape == (2, 5, 3)
    assert not first.any()
    assert [entry["event"] for entry in logs] == ["teacher.failed"]
    assert "secret" not in str(logs)


def test_an_estimator_that_cannot_be_fitted_votes_for_no_label(records: Dataset) -> None:
    data = from_arrays(np.abs(records.X) + 1, records.labels())
    data.X[slices(320, 4, 0)[1][0], 0] = -1
    task = infer_task(data, "t")
    plain = task.model_copy(update={"input": task.input.model_copy(update={"preprocessing": "none"})})
    scores = train(data, plain, config(f"{HERE}:picky_bayes"), seed=0).predict(data.X[:3])
    assert not scores[1].any()
    assert scores[[0, 2, 3]].any(axis=(1, 2)).all()


def test_estimators_that_cannot_score_labels_are_refused(records: Dataset, task: Task) -> None:
    with pytest.raises(OstrakaError) as refused:
        train(records, task, config(f"{HERE}:homemade"), seed=0)
    assert refused.value.code is ErrorCode.MODEL_INVALID


def test_no_query_gives_no_score(records: Dataset, task: Task) -> None:
    ensemble = train(records, task, config("mlp", epochs=1), seed=0)
    assert ensemble.predict(records.X[:0]).shape == (4, 0, 5)


@pytest.mark.parametrize(
    ("model", "kind"),
    [(RandomForestClassifier(), RandomForestClassifier), (GaussianNB(), OneVsRestClassifier)],
)
def test_an_estimator_of_single_labels_is_made_one_for_each(model: Any, kind: type) -> None:
    assert type(for_labels(model)) is kind


def test_an_estimator_without_probabilities_scores_its_answer() -> None:
    class Plain:
        def predict(self, X: np.ndarray) -> np.ndarray:
            return np.ones((len(X), 3), int)

    assert label_scores(Plain(), np.zeros((2, 4), np.float32)).tolist() == [[1, 1, 1]] * 2


@pytest.mark.heavy
def test_a_constant_label_is_trusted_only_where_it_belongs(
    records: Dataset, task: Task, tmp_path: Path
) -> None:
    folder = tmp_path / "teachers"
    train(records, task, config("logistic_regression"), seed=0).save(folder)
    whole = skops.io.load(folder / "model-0002.skops", trusted=["sklearn.multiclass._ConstantPredictor"])
    skops.io.dump(whole.estimators_[1], folder / "model-0002.skops")
    with pytest.raises(OstrakaError) as refused:
        Ensemble.load(folder)
    assert refused.value.code is ErrorCode.MODEL_INVALID
    neighbours = OneVsRestClassifier(KNeighborsClassifier()).fit(records.X, records.labels()[:, ::3])
    skops.io.dump(neighbours, folder / "model-0002.skops")
    with pytest.raises(OstrakaError) as refused:
        Ensemble.load(folder)
    assert "not trusted" in refused.value.message


def test_label_accuracy_is_the_majoritys() -> None:
    scores = np.array([[[0.9, 0.5]], [[0.2, 0.8]]], np.float32)
    assert label_accuracy(scores, np.array([[0, 1]])) == 1.0
    assert label_accuracy(scores, np.array([[1, 1]])) == 0.5


@pytest.mark.heavy
@pytest.mark.parametrize("model", ["logistic", "mlp", "logistic_regression", "random_forest", "lightgbm"])
def test_a_record_that_lacks_labels_trains_the_others(task: Task, model: str) -> None:
    known = np.random.default_rng(3).random((320, 5)) < 0.6
    data = symptoms(320)
    hidden = replace(data, y=np.where(known, data.labels(), UNKNOWN))
    fresh = symptoms(200, seed=1)
    scores = train(hidden, task, config(model), seed=0).predict(task.prepare(fresh.X))
    assert label_accuracy(scores, fresh.labels()) > 0.8


def test_what_nobody_knows_of_a_record_changes_no_estimator() -> None:
    data = symptoms(80)
    X, y = data.X, data.labels().copy()
    y[:30, 0] = UNKNOWN
    alone = DecisionTreeClassifier(random_state=0).fit(X[30:], y[30:, 0])
    together = fit_labels(DecisionTreeClassifier(random_state=0), X, y)
    np.testing.assert_array_equal(label_scores(together, X)[:, 0], alone.predict_proba(X)[:, 1])
