"""Thresholds from which teachers say yes to a label."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import save_file
from sklearn.metrics import balanced_accuracy_score

from ostraka.common.crypto.logits import LOGIT_RANGE
from ostraka.common.datasets import Dataset, from_arrays
from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Binary, Powerset, Tau
from ostraka.common.sharing.ballots import label_sets
from ostraka.common.task import Task, infer_task
from ostraka.services.teachers import Ensemble, TrainingConfig, train
from ostraka.services.teachers.assignment import slices
from ostraka.services.teachers.config import TrainingSection, Tuning
from ostraka.services.teachers.encrypted_heads import heads_of
from ostraka.services.teachers.preparation import prepare
from ostraka.services.teachers.thresholds import FILE, MIN_THRESHOLD, Thresholds, tune_teacher
from tests.services.conftest import symptoms
from tests.services.teachers.conftest import blobs

TEACHERS, LABELS = 3, 4


def skewed(records: int, seed: int = 0) -> Dataset:
    """Labels that are rarer the later they come, so that one half is no good threshold."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(records, 6)).clip(-2, 2)
    X[:2] = [[-2] * 6, [2] * 6]
    sides = np.random.default_rng(99).normal(size=(6, LABELS))
    noise = random.normal(0, 1.5, (records, LABELS))
    return from_arrays(X, (X @ sides + noise > [0.5, 2.0, 3.0, 4.0]).astype(int))


def others(records: int) -> Dataset:
    """Return as many public records, none of which `skewed` draws with another seed."""
    return skewed(records + 2, seed=2).take(slice(2, None))


@pytest.fixture(scope="module")
def records() -> Dataset:
    return skewed(600)


@pytest.fixture(scope="module")
def task(records: Dataset) -> Task:
    return infer_task(records, "skewed")


def fitted(
    records: Dataset, task: Task, kind: Tuning, public: Dataset | None = None, **more: object
) -> Ensemble:
    given_model = {} if "head" in more else {"model": "logistic_regression"}
    values = {"teachers": TEACHERS, "thresholds": kind, "held_out": 0.0} | given_model | more
    config = TrainingConfig.model_validate(values)
    return train(records, task, config, seed=0, public=public)


def balanced(yes: NDArray[np.bool_], y: NDArray[np.int64]) -> float:
    """Mean balanced accuracy of teachers (T, Q, k) over labels."""
    pairs = ((votes[:, label], y[:, label]) for votes in yes for label in range(y.shape[1]))
    return float(np.mean([balanced_accuracy_score(truth, votes) for votes, truth in pairs]))


scores_of = st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=2, max_size=30)


@pytest.mark.heavy
@given(scores_of)
@settings(deadline=None, max_examples=60)
def test_no_threshold_is_better_than_the_tuned_one(pairs: list[tuple[int, bool]]) -> None:
    scores = np.array([[score / 20] for score, _ in pairs])
    y = np.array([[int(label)] for _, label in pairs])
    (found,) = tune_teacher("per_label", scores, y)
    assert MIN_THRESHOLD <= found <= 1 - MIN_THRESHOLD
    if y.all() or not y.any():
        assert found == 0.5
        return
    reached = balanced_accuracy_score(y[:, 0], scores[:, 0] >= found)
    for other in (*np.arange(1, 40, 2) / 40, 0.5, MIN_THRESHOLD, 1 - MIN_THRESHOLD):
        other_way = balanced_accuracy_score(y[:, 0], scores[:, 0] >= other)
        assert reached >= other_way - 1e-9
    if abs(balanced_accuracy_score(y[:, 0], scores[:, 0] >= 0.5) - reached) < 1e-9:
        assert found == 0.5


@pytest.mark.heavy
def test_one_threshold_for_all_labels_is_the_best_mean() -> None:
    random = np.random.default_rng(0)
    y = (random.random((300, 3)) < [0.5, 0.1, 0.02]).astype(int)
    y[:, 2] = 0
    scores = np.clip(random.normal(0.3 + 0.2 * y, 0.1), 0, 1)
    found = tune_teacher("global", scores, y)
    assert len(set(found)) == 2
    assert found[2] == 0.5

    def mean(threshold: float) -> float:
        return float(np.mean([balanced_accuracy_score(y[:, k], scores[:, k] >= threshold) for k in (0, 1)]))

    assert mean(found[0]) >= max(mean(other) for other in np.linspace(0.01, 0.99, 500)) - 1e-9


def test_records_known_by_heart_leave_one_half() -> None:
    y = np.array([[0, 1], [1, 0], [1, 1]])
    assert tune_teacher("per_label", y * 0.8 + 0.1, y).tolist() == [0.5, 0.5]


@given(st.floats(0, 1, width=32), st.floats(MIN_THRESHOLD, 1 - MIN_THRESHOLD))
def test_a_score_from_its_threshold_on_is_a_yes_after_the_shift(score: float, threshold: float) -> None:
    moved = Thresholds(np.array([[threshold]])).shift(np.array([[[score]]], np.float32))
    assert moved.dtype == np.float32
    assert 0 <= moved <= 1
    if abs(score - threshold) > 1e-6:
        assert (moved >= 0.5) == (score >= threshold)


def test_shifted_scores_keep_the_order_of_logits_less_the_threshold() -> None:
    scores = np.random.default_rng(0).random((2, 50, 4)).astype(np.float32)
    thresholds = Thresholds(np.random.default_rng(1).uniform(0.1, 0.9, (2, 4)))
    logits = np.log(scores) - np.log1p(-scores)
    expected = logits - np.stack([thresholds.logits(teacher) for teacher in range(2)])[:, None]
    moved = thresholds.shift(scores)
    assert np.array_equal(moved.argsort(axis=-1), expected.argsort(axis=-1))
    np.testing.assert_allclose(moved, 1 / (1 + np.exp(-expected)), atol=1e-6)
    assert np.array_equal(thresholds.shift(scores[1:], slice(1, 2)), moved[1:])
    assert thresholds.shift(np.array([[[0.0, 1.0, 0.0, 1.0]]]), slice(0, 1)).tolist() == [[[0, 1, 0, 1]]]


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["global", "per_label"])
@pytest.mark.parametrize("model", ["logistic_regression", "mlp"])
def test_tuning_helps_rare_labels_and_is_kept_with_the_teachers(
    records: Dataset, task: Task, kind: Tuning, model: str, tmp_path: Path
) -> None:
    fresh = skewed(600, seed=1)
    more: dict[str, Any] = {"model": model, "held_out": 0.2 if model == "mlp" else 0.0}
    X = task.prepare(fresh.X)
    plain = fitted(records, task, "none", **more)
    ensemble = fitted(records, task, kind, public=others(400), **more)
    assert plain.thresholds is None
    before, after = plain.predict(X) >= 0.5, ensemble.predict(X) >= 0.5
    assert balanced(after, fresh.labels()) > balanced(before, fresh.labels()) + 0.03
    ensemble.save(tmp_path / "teachers")
    loaded = Ensemble.load(tmp_path / "teachers")
    assert np.array_equal(loaded.predict(X), ensemble.predict(X))
    assert loaded.manifest.thresholds == kind
    shown = repr(ensemble.thresholds)
    assert "values" not in shown


@pytest.mark.heavy
def test_every_ballot_counts_a_score_from_its_threshold_on(records: Dataset, task: Task) -> None:
    X = task.prepare(skewed(200, seed=1).X)
    plain, ensemble = fitted(records, task, "none"), fitted(records, task, "per_label")
    assert ensemble.thresholds is not None
    yes = plain.predict(X) >= ensemble.thresholds.values[:, None]
    scores = ensemble.predict(X)
    assert not np.array_equal(yes, plain.predict(X) >= 0.5)
    assert np.array_equal(Binary(sigma=1.0).ballot.count(scores, LABELS), yes.sum(axis=0))
    for mechanism in (Tau(sigma=1.0, tau=1.2), Powerset(sigma=1.0)):
        counted = mechanism.ballot.count(scores, LABELS)
        assert np.array_equal(counted, mechanism.ballot.count(yes.astype(np.float32), LABELS))


def test_of_too_many_yeses_those_furthest_above_their_thresholds_are_kept() -> None:
    scores = np.array([[[0.9, 0.4, 0.3]]], np.float32)
    moved = Thresholds(np.array([[0.85, 0.1, 0.5]])).shift(scores)
    kept = np.array([[[0.0, 1.0, 0.0]]], np.float32)
    assert np.array_equal(label_sets(moved, 1), label_sets(kept, 1))


@pytest.mark.heavy
def test_one_changed_record_moves_one_teachers_thresholds(records: Dataset, task: Task) -> None:
    y = records.labels().copy()
    y[17] = 1 - y[17]
    before, after = (
        fitted(data, task, "per_label").thresholds for data in (records, from_arrays(records.X, y))
    )
    assert before is not None
    assert after is not None
    (owner,) = (teacher for teacher, rows in enumerate(slices(600, TEACHERS, 0)) if 17 in rows)
    for teacher in range(TEACHERS):
        if teacher != owner:
            assert np.array_equal(before.values[teacher], after.values[teacher])
    assert not np.array_equal(before.values[owner], after.values[owner])


@pytest.mark.parametrize("head", ["linear", "square-mlp"])
@pytest.mark.parametrize("public", [None, others(300)], ids=["own", "public"])
def test_encrypted_heads_say_yes_from_the_same_threshold_on(
    records: Dataset, task: Task, head: str, public: Dataset | None
) -> None:
    ensemble = fitted(records, task, "per_label", public, head=head, epochs=20)
    assert ensemble.thresholds is not None
    assert (ensemble.thresholds.values != 0.5).any()
    X = task.prepare(skewed(300, seed=1).X)
    logits = np.stack([found.plain(X) for found in heads_of(ensemble)])
    scores = ensemble.predict(X)
    assert np.array_equal(logits >= 0, scores >= 0.5)
    assert np.array_equal(label_sets(logits + 0.5, 1), label_sets(scores, 1))
    own = np.stack([found.plain(task.prepare(records.X)) for found in heads_of(ensemble)])
    assert np.abs(own).max() < 2 * LOGIT_RANGE


def test_thresholds_are_for_labels() -> None:
    data = blobs(60)
    with pytest.raises(OstrakaError, match="are for multi-label tasks") as refused:
        train(
            data, infer_task(data, "t"), TrainingConfig(teachers=2, thresholds="global", model="mlp"), seed=0
        )
    assert refused.value.code is ErrorCode.CONFIG_INVALID


def test_thresholds_that_are_for_labels_are_refused_before_anything_is_learned() -> None:
    data, config = blobs(60), TrainingConfig(teachers=2, thresholds="global", model="mlp")
    with pytest.raises(OstrakaError, match="are for multi-label tasks") as refused:
        prepare(data, infer_task(data, "t"), config, seed=0, together="dp-ttac")
    assert refused.value.code is ErrorCode.CONFIG_INVALID


def test_public_records_of_another_task_are_refused(records: Dataset, task: Task) -> None:
    with pytest.raises(OstrakaError) as refused:
        fitted(records, task, "global", public=symptoms(50))
    assert refused.value.code is ErrorCode.DATA_SHAPE


@pytest.mark.parametrize("kind", ["none", "per_label"])
def test_own_records_are_no_public_ones(records: Dataset, task: Task, kind: Tuning) -> None:
    own, public = records.take(slice(17, 18)), others(100)
    mixed = from_arrays(
        np.concatenate([public.X, own.X]), np.concatenate([public.labels(), 1 - own.labels()])
    )
    with pytest.raises(OstrakaError, match="this party's own") as refused:
        fitted(records, task, kind, public=mixed)
    assert refused.value.code is ErrorCode.CONFIG_INVALID


def test_a_kind_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="thresholds"):
        TrainingSection.model_validate({"thresholds": "median"})


@pytest.mark.heavy
@pytest.mark.parametrize(
    "values",
    [
        None,
        np.full((TEACHERS, LABELS + 1), 0.5),
        np.full((TEACHERS, LABELS), 0.0),
        np.full((TEACHERS, LABELS), 1 - MIN_THRESHOLD / 2),
        np.full((TEACHERS, LABELS), np.nan),
        np.full((TEACHERS, LABELS), 0.5, np.float32),
    ],
    ids=["missing", "shape", "zero", "beyond", "nan", "single"],
)
def test_thresholds_that_do_not_fit_the_teachers_are_refused(
    records: Dataset, task: Task, values: NDArray[np.float64] | None, tmp_path: Path
) -> None:
    folder = tmp_path / "teachers"
    fitted(records, task, "per_label").save(folder)
    (folder / FILE).unlink()
    if values is not None:
        save_file({"thresholds": values}, folder / FILE)
    with pytest.raises(OstrakaError, match=FILE) as refused:
        Ensemble.load(folder)
    assert refused.value.code is ErrorCode.MODEL_INVALID


def test_thresholds_are_those_of_the_records_where_a_label_is_known() -> None:
    random = np.random.default_rng(4)
    scores, y = random.random((60, 2)), random.integers(0, 2, (60, 2))
    hidden = y.copy()
    hidden[:25, 0] = UNKNOWN
    found = tune_teacher("per_label", scores, hidden)
    assert found[0] == tune_teacher("per_label", scores[25:], y[25:])[0]
    assert found[1] == tune_teacher("per_label", scores, y)[1]
