from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from ostraka.client.students.neural import Neural
from ostraka.client.students.registry import STUDENTS, make_student
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.data import Labelled
from ostraka.common.learning.training_run import TrainingRun
from tests.common.learning.clouds import CLASSES, SHORT, clouds, labels

KINDS = ("supervised", "fixmatch")
POOL = clouds(90, seed=1).X


def student(kind: str, **options: Any) -> Neural:
    return make_student(kind, **{"learning": SHORT} | options)


@pytest.mark.parametrize("kind", KINDS)
def test_a_student_learns_classes_from_few_labels(kind: str) -> None:
    test = clouds(300, seed=5)
    learned = student(kind, classes=CLASSES).learn_from(clouds(12), POOL, clouds(30, seed=2))
    assert learned.score(test.X, test.y) > 0.9
    likely = learned.predict_proba(test.X)
    np.testing.assert_allclose(likely.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(likely.argmax(axis=1), learned.predict(test.X))
    assert learned.classes_.tolist() == [0, 1, 2]
    assert learned.n_features_in_ == 6
    assert learned.history_.looks[-1].error is not None


@pytest.mark.parametrize("kind", KINDS)
def test_a_student_learns_labels_from_few(kind: str) -> None:
    test = clouds(300, seed=5)
    truth = np.eye(CLASSES, dtype=np.int64)[test.y]
    learned = student(kind).learn_from(labels(30), POOL)
    assert learned.score(test.X, truth) > 0.9
    likely = learned.predict_proba(test.X)
    assert ((likely >= 0) & (likely <= 1)).all()
    np.testing.assert_array_equal(learned.predict(test.X), likely >= 0.5)


def test_records_on_other_scales_are_learned_as_well() -> None:
    def rescaled(X: np.ndarray) -> np.ndarray:
        return (X * np.float32(1000) + np.arange(6, dtype=np.float32) * 5000).astype(np.float32)

    few, test = clouds(12), clouds(300, seed=5)
    learned = student("fixmatch").learn_from(Labelled(rescaled(few.X), few.y), rescaled(POOL))
    assert learned.score(rescaled(test.X), test.y) > 0.9


def test_without_unlabeled_records_the_labelled_ones_serve() -> None:
    test = clouds(300, seed=5)
    assert student("fixmatch").learn_from(clouds(60)).score(test.X, test.y) > 0.9


def test_it_is_a_scikit_learn_estimator() -> None:
    made = student("fixmatch", threshold=0.8, seed=4)
    copied = clone(made)
    assert copied.get_params() == made.get_params()
    assert copied.set_params(threshold=0.7).get_params()["threshold"] == 0.7
    with pytest.raises(NotFittedError):
        copied.predict(POOL)


@pytest.mark.heavy
def test_the_same_seed_gives_the_same_student_also_when_fitted_again() -> None:
    once = student("fixmatch").learn_from(clouds(12), POOL)
    first = once.predict_proba(POOL)
    np.testing.assert_array_equal(clone(once).learn_from(clouds(12), POOL).predict_proba(POOL), first)
    np.testing.assert_array_equal(once.learn_from(clouds(12), POOL).predict_proba(POOL), first)


def test_labels_known_to_be_wrong_at_times_are_believed_less() -> None:
    few = clouds(30)
    doubted = Labelled(few.X, few.y, np.full(30, 0.4, np.float32))
    sure, unsure = (student("supervised").learn_from(data).predict_proba(few.X) for data in (few, doubted))
    assert unsure.max(axis=1).mean() < sure.max(axis=1).mean() - 0.2
    np.testing.assert_array_equal(unsure.argmax(axis=1), few.y)


def test_features_of_another_precision_are_learned_as_well() -> None:
    records = clouds(12)
    exact = Labelled(records.X.astype(np.float64), records.y)
    student = make_student("fixmatch", learning=SHORT).learn_from(exact)
    assert student.predict_proba(exact.X).shape == (12, 3)


def test_no_records_have_no_probabilities() -> None:
    assert student("supervised").learn_from(clouds(30)).predict_proba(POOL[:0]).shape == (0, 3)


def broken(value: float) -> np.ndarray:
    X = POOL.copy()
    X[3, 2] = value
    return X


@pytest.mark.parametrize(
    ("labelled", "unlabeled", "validation", "options", "code"),
    [
        (clouds(0), POOL, None, {}, ErrorCode.DATA_TOO_FEW),
        (clouds(30).rows(clouds(30).y == 1), POOL, None, {}, ErrorCode.DATA_TOO_FEW),
        (Labelled(POOL, -np.ones((90, 2), np.int64)), POOL, None, {}, ErrorCode.DATA_TOO_FEW),
        (clouds(30), broken(np.nan), None, {}, ErrorCode.DATA_NAN),
        (clouds(30), broken(np.inf), None, {}, ErrorCode.DATA_NAN),
        (clouds(30), POOL[:, :5], None, {}, ErrorCode.DATA_SHAPE),
        (clouds(30), POOL, Labelled(POOL[:, :5], np.zeros(90, np.int64)), {}, ErrorCode.DATA_SHAPE),
        (clouds(30), POOL, labels(30), {}, ErrorCode.DATA_SHAPE),
        (clouds(30), POOL, None, {"shape": (7,)}, ErrorCode.DATA_SHAPE),
        (clouds(30), POOL, None, {"classes": 2}, ErrorCode.DATA_LABEL_RANGE),
        (clouds(30), POOL, Labelled(POOL, np.full(90, 3)), {}, ErrorCode.DATA_LABEL_RANGE),
        (clouds(30), POOL, None, {"network": "cnn"}, ErrorCode.MODEL_INVALID),
        (clouds(30), POOL, None, {"learning": replace(SHORT, learning_rate=1e30)}, ErrorCode.MODEL_DIVERGED),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_what_nothing_can_be_learned_from_is_refused_and_the_student_stays(
    kind: str,
    labelled: Labelled,
    unlabeled: np.ndarray,
    validation: Labelled | None,
    options: dict[str, Any],
    code: ErrorCode,
) -> None:
    learned = student(kind).learn_from(clouds(12), POOL)
    before = learned.predict_proba(POOL)
    with pytest.raises(OstrakaError) as raised:
        learned.set_params(**options).learn_from(labelled, unlabeled, validation)
    assert raised.value.code is code
    np.testing.assert_array_equal(learned.predict_proba(POOL), before)


def test_records_of_another_width_are_not_predicted() -> None:
    with pytest.raises(OstrakaError) as raised:
        student("supervised").learn_from(clouds(30)).predict(POOL[:, :5])
    assert raised.value.code is ErrorCode.DATA_SHAPE


@pytest.mark.parametrize(
    ("kind", "options", "told"),
    [("nobody", {}, "no student nobody"), ("supervised", {"threshold": 0.5}, "no parameter threshold")],
)
def test_unknown_students_and_parameters_are_refused(kind: str, options: dict[str, Any], told: str) -> None:
    with pytest.raises(OstrakaError, match=told) as raised:
        make_student(kind, **options)
    assert raised.value.code is ErrorCode.CONFIG_INVALID


@pytest.mark.parametrize("kind", sorted(STUDENTS))
def test_every_student_is_made_by_its_name(kind: str) -> None:
    made = make_student(kind, shape=(8, 8), classes=10)
    assert type(made) is STUDENTS[kind]
    assert (made.shape, made.classes) == ((8, 8), 10)


@pytest.mark.heavy
def test_a_fit_tells_its_progress_and_leaves_no_checkpoint(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    run = TrainingRun(lambda done, total: told.append((done, total)), checkpoint=tmp_path / "fit")
    student("fixmatch").learn_from(clouds(12), POOL, run=run)
    assert told[-1] == (SHORT.steps, SHORT.steps)
    assert not list(tmp_path.iterdir())
