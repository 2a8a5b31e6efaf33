import json
import warnings
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import skops.io
import torch
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier
from structlog.testing import capture_logs

from ostraka.common.datasets import Dataset, from_arrays
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.device import HOST
from ostraka.common.task import Task, infer_task
from ostraka.services.teachers import Ensemble, TeachersManifest, TrainingConfig, nets, train
from ostraka.services.teachers.assignment import slices
from ostraka.services.teachers.fitting import compose
from ostraka.services.teachers.guard import VoteGuard
from ostraka.services.teachers.manifest import unreadable
from ostraka.services.teachers.nets import FILE, Networks
from tests.services.teachers.conftest import blobs
from tests.services.teachers.factories import HERE, Homemade


def numbered(count: int) -> NDArray[np.float32]:
    """Make records of one feature, none of which is zero."""
    return np.arange(1, count + 1, dtype=np.float32)[:, None]


def config(model: str) -> TrainingConfig:
    return TrainingConfig(teachers=4, model=model, epochs=3)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "model",
    [
        "mlp",
        "cnn",
        "random_forest",
        "logistic_regression",
        "xgboost",
        "lightgbm",
        f"{HERE}:dropout",
        f"{HERE}:bayes",
        f"{HERE}:boosted",
        f"{HERE}:staged",
    ],
)
def test_a_saved_ensemble_votes_the_same(model: str, tmp_path: Path) -> None:
    data = blobs(60, shape=(8, 8))
    task, asked = infer_task(data, "images"), blobs(300, seed=4, shape=(8, 8)).X
    trained = train(data, task, config(model), seed=0)
    trained.save(tmp_path / "teachers")
    loaded = Ensemble.load(tmp_path / "teachers")
    assert np.array_equal(loaded.predict(asked), trained.predict(asked))
    assert loaded.manifest == trained.manifest
    loaded.require_task(task)


def test_the_manifest_declares_what_was_trained(records: Dataset, task: Task, tmp_path: Path) -> None:
    train(records, task, config("mlp"), seed=7).save(tmp_path / "teachers")
    stored = json.loads((tmp_path / "teachers" / "manifest.json").read_text())
    assert (stored["teachers"], stored["records"], stored["seed"]) == (4, 120, 7)
    assert stored["task_digest"] == task.digest.hex()
    assert stored["training"].startswith("mlp, ostraka ")
    ensemble = Ensemble.load(tmp_path / "teachers")
    (group,) = ensemble.manifest.groups
    assert (group.name, group.records, group.teachers) == ("all", 120, 4)
    assert ensemble.manifest.training == stored["training"]


@pytest.mark.heavy
def test_a_network_is_made_and_tried_once_for_all_that_are_loaded(
    records: Dataset, task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = train(records, task, config("mlp"), seed=0)
    trained.save(tmp_path / "teachers")
    made = Mock(wraps=compose)
    monkeypatch.setattr(nets, "compose", made)
    loaded = Ensemble.load(tmp_path / "teachers")
    made.assert_called_once()
    assert np.array_equal(loaded.predict(records.X), trained.predict(records.X))


def test_saving_replaces_the_ensemble_before(records: Dataset, task: Task, tmp_path: Path) -> None:
    train(records, task, config("random_forest"), seed=0).save(tmp_path / "teachers")
    train(records, task, config("mlp"), seed=0).save(tmp_path / "teachers")
    assert {path.name for path in (tmp_path / "teachers").iterdir()} == {"manifest.json", FILE}
    assert [path.name for path in tmp_path.iterdir()] == ["teachers"]


@pytest.mark.heavy
@pytest.mark.parametrize("model", ["logistic", "mlp", "cnn"])
def test_stacked_networks_vote_as_each_would_alone(model: str) -> None:
    nets = [compose(model, (8, 8), 5) for _ in range(7)]
    asked = np.random.default_rng(0).normal(size=(700, 64)).astype(np.float32)
    guard = VoteGuard(5)
    together = Networks(nets, (8, 8), HOST, "stacked").predict(asked, guard)
    alone = Networks(nets, (8, 8), HOST, "loop").predict(asked, guard)
    assert together.shape == (7, 700)
    assert (together == alone).mean() > 0.999  # logits that are equal up to rounding may change places


def test_no_query_gives_no_vote(records: Dataset, task: Task) -> None:
    assert train(records, task, config("mlp"), seed=0).predict(records.X[:0]).shape == (4, 0)


def test_a_teacher_without_numbers_votes_for_the_fixed_class(
    records: Dataset, task: Task, tmp_path: Path
) -> None:
    nets = [compose("mlp", (4,), 3) for _ in range(3)]
    with torch.no_grad():
        next(nets[1].parameters()).fill_(float("nan"))
    votes = Networks(nets, (4,), HOST, "products").predict(records.X, VoteGuard(3))
    alone = Networks([nets[0], nets[2]], (4,), HOST, "loop").predict(records.X, VoteGuard(3))
    assert (votes[1] == 0).all()
    assert np.array_equal(votes[[0, 2]], alone)


@pytest.mark.parametrize(
    "answer",
    [
        [[1.0, np.nan, 2.0]],
        [[1, -1, 2]],
        [[1, 3, 2]],
        [[1, 0.5, 2]],
    ],
)
def test_an_answer_that_is_no_class_is_the_fixed_class(answer: list[list[float]]) -> None:
    assert VoteGuard(3).votes(lambda X: np.array(answer), numbered(3), 1).tolist() == [[1, 0, 2]]


def test_a_failing_model_votes_for_the_fixed_class_and_is_told_of_once_without_data() -> None:
    def fail(X: NDArray[np.float32]) -> NDArray[np.int64]:
        if X.any():
            raise RuntimeError("secret record 17")
        return np.ones((2, 1), np.int64)

    guard = VoteGuard(3)
    with capture_logs() as logs:
        first = guard.votes(fail, numbered(5), 2)
        guard.votes(fail, numbered(5), 2)
        guard.votes(lambda X: np.ones((2, 4 if X.any() else 1)), numbered(5), 2)
    assert first.tolist() == [[0] * 5] * 2
    assert [entry["event"] for entry in logs] == ["teacher.failed"]
    assert "secret" not in str(logs)


@pytest.mark.parametrize("failure", [RuntimeError, SystemExit])
@pytest.mark.parametrize("poisoned", [[0], [6], [2, 3], [0, 1, 2, 3, 4, 5, 6]])
def test_a_query_that_a_model_cannot_take_costs_no_vote_on_another(
    poisoned: list[int], failure: type[BaseException]
) -> None:
    answers = np.array([[1, 2, 1, 2, 1, 2, 1], [2, 2, 2, 1, 1, 1, 1]])

    def predict(X: NDArray[np.float32]) -> NDArray[np.int64]:
        asked = X[:, 0].astype(int) - 1
        if set(asked) & set(poisoned):
            raise failure
        return answers[:, asked]

    expected = answers.copy()
    expected[:, poisoned] = 0
    assert np.array_equal(VoteGuard(3).votes(predict, numbered(7), 2), expected)


@pytest.mark.parametrize("failure", [RuntimeError, SystemExit, MemoryError])
@pytest.mark.parametrize("queries", [1, 5])
def test_a_model_that_fails_on_zeros_too_votes_for_nothing_and_is_asked_no_more(
    queries: int, failure: type[BaseException]
) -> None:
    asked: list[int] = []

    def fail(X: NDArray[np.float32]) -> NDArray[np.int64]:
        asked.append(len(X))
        raise failure("secret record 17")

    with pytest.raises(OstrakaError) as refused:
        VoteGuard(3).votes(fail, numbered(queries), 2)
    assert refused.value.code is ErrorCode.SERVER_DEVICE_GONE
    assert failure.__name__ in refused.value.message
    assert "secret" not in refused.value.message
    assert asked == [queries, 1]


def test_whether_a_batch_is_refused_depends_on_no_query(records: Dataset) -> None:
    """What is asked decides whether zeros are asked too, and they alone decide."""
    probes: list[NDArray[np.float32]] = []

    def fail(X: NDArray[np.float32]) -> NDArray[np.int64]:
        if X.any():
            raise RuntimeError
        probes.append(X)
        return np.ones((1, 1), np.int64)

    for X in (records.X[:3], -records.X[:3] * 1e30):
        assert not VoteGuard(3).votes(fail, X.astype(np.float32), 1).any()
    assert {probe.tobytes() for probe in probes} == {bytes(probes[0].nbytes)}
    assert {probe.shape for probe in probes} == {(1, 4)}


def test_a_query_for_which_there_was_no_room_a_moment_ago_gets_its_vote() -> None:
    room = iter([False, True])

    def predict(X: NDArray[np.float32]) -> NDArray[np.int64]:
        if X.any() and not next(room):
            raise MemoryError
        return np.full((1, 1), 2)

    assert VoteGuard(3).votes(predict, numbered(1), 1).tolist() == [[2]]


def test_a_query_beyond_numbers_costs_no_vote_of_an_estimator_on_another(records: Dataset) -> None:
    made = train(records, infer_task(records, "t"), config("logistic_regression"), seed=0)
    asked = records.X[:6].astype(np.float32)
    expected = made.predict(asked)
    asked = np.insert(asked, 3, np.finfo(np.float32).max, axis=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "overflow", RuntimeWarning)
        votes = made.predict(asked)
    assert np.array_equal(np.delete(votes, 3, axis=1), expected)


def test_an_estimator_that_cannot_be_fitted_votes_for_the_fixed_class(records: Dataset) -> None:
    owner = slices(120, 4, 0)[1][0]
    shifted = records.X - records.X.min() + 1
    shifted[owner, 0] = -1
    data = from_arrays(shifted, records.y)
    votes = train(
        data,
        infer_task(data, "t").model_copy(update={"input": raw(data)}),
        config(f"{HERE}:picky_constant"),
        seed=0,
    ).predict(data.X)
    assert votes[:, 0].tolist() == [2, 0, 2, 2]


def raw(data: Dataset) -> object:
    return infer_task(data, "t").input.model_copy(update={"preprocessing": "none"})


def test_estimators_of_which_none_can_be_fitted_are_refused(records: Dataset) -> None:
    data = from_arrays(-np.abs(records.X) - 1, records.y)
    task = infer_task(data, "t").model_copy(update={"input": raw(data)})
    with pytest.raises(OstrakaError) as refused:
        train(data, task, config(f"{HERE}:picky_constant"), seed=0)
    assert refused.value.code is ErrorCode.MODEL_INVALID


def test_estimators_that_cannot_take_a_record_of_zeros_are_refused(records: Dataset) -> None:
    data = from_arrays(np.abs(records.X) + 1, records.y)
    task = infer_task(data, "t").model_copy(update={"input": raw(data)})
    with pytest.raises(OstrakaError, match="a record of zeros") as refused:
        train(data, task, config(f"{HERE}:no_zeros"), seed=0)
    assert refused.value.code is ErrorCode.MODEL_INVALID


def refusal(folder: Path) -> OstrakaError:
    with pytest.raises(OstrakaError) as refused:
        Ensemble.load(folder)
    assert refused.value.code is ErrorCode.MODEL_INVALID
    return refused.value


def test_a_type_that_is_not_trusted_is_not_loaded(records: Dataset, task: Task, tmp_path: Path) -> None:
    folder = tmp_path / "teachers"
    train(records, task, config("logistic_regression"), seed=0).save(folder)
    skops.io.dump(Homemade(), folder / "model-0002.skops")
    assert "not trusted" in refusal(folder).message
    skops.io.dump(KNeighborsClassifier().fit(records.X, records.labels()), folder / "model-0002.skops")
    assert "not trusted" in refusal(folder).message


def test_a_type_that_is_not_trusted_is_neither_trained_nor_saved(
    records: Dataset, task: Task, tmp_path: Path
) -> None:
    steps: list[tuple[int, int]] = []
    with pytest.raises(OstrakaError) as refused:
        train(
            records,
            task,
            config(f"{HERE}:homemade"),
            seed=0,
            progress=lambda done, total: steps.append((done, total)),
        ).save(tmp_path / "teachers")
    assert refused.value.code is ErrorCode.MODEL_INVALID
    assert "factories.Homemade" in refused.value.message
    assert "docs/teachers.md" in refused.value.message
    assert not steps
    assert not (tmp_path / "teachers").exists()


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("field", "value"), [("left_child", 10**6), ("right_child", 0), ("left_child", -7), ("feature", 4)]
)
def test_a_tree_that_leads_outside_itself_is_refused(
    field: str, value: int, records: Dataset, task: Task, tmp_path: Path
) -> None:
    folder = tmp_path / "teachers"
    train(records, task, config("random_forest"), seed=0).save(folder)
    forest = skops.io.load(folder / "model-0001.skops", trusted=["sklearn.tree._tree.Tree"])
    tree = forest.estimators_[3].tree_
    state = tree.__getstate__()
    state["nodes"][field][0] = value
    tree.__setstate__(state)
    skops.io.dump(forest, folder / "model-0001.skops")
    refusal(folder)


@pytest.mark.heavy
@pytest.mark.parametrize("model", ["mlp", "random_forest"])
@pytest.mark.parametrize("damage", ["empty", "cut", "missing"])
def test_damaged_models_are_refused(
    model: str, damage: str, records: Dataset, task: Task, tmp_path: Path
) -> None:
    folder = tmp_path / "teachers"
    train(records, task, config(model), seed=0).save(folder)
    path = next(path for path in sorted(folder.iterdir()) if path.suffix != ".json")
    whole = path.read_bytes()
    path.unlink()
    if damage != "missing":
        path.write_bytes(whole[: len(whole) // 2 if damage == "cut" else 0])
    assert refusal(folder).message == unreadable(path).message


def test_weights_of_other_networks_are_refused(records: Dataset, task: Task, tmp_path: Path) -> None:
    for name, model in (("one", "mlp"), ("other", "logistic")):
        train(records, task, config(model), seed=0).save(tmp_path / name)
    (tmp_path / "other" / FILE).replace(tmp_path / "one" / FILE)
    refusal(tmp_path / "one")


@pytest.mark.parametrize("text", ["", "{}", '{"teachers": 0}', "[1"])
def test_a_broken_manifest_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(OstrakaError) as refused:
        TeachersManifest.load(tmp_path)
    assert refused.value.code is ErrorCode.MODEL_INVALID


def test_a_missing_ensemble_says_to_train(tmp_path: Path) -> None:
    assert "party train" in refusal(tmp_path / "teachers").message


def test_teachers_of_another_task_are_refused(records: Dataset, task: Task) -> None:
    ensemble = train(records, task, config("mlp"), seed=0)
    with pytest.raises(OstrakaError) as refused:
        ensemble.require_task(infer_task(records, "other"))
    assert refused.value.code is ErrorCode.TASK_MISMATCH
