from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.model_selection import cross_val_score

from ostraka.client.students.files import load_student, save_student
from ostraka.client.students.models import probabilities, train
from ostraka.client.students.registry import make_student
from ostraka.client.students.trainers import Choice
from ostraka.common.datasets import from_arrays
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning import factories
from ostraka.common.task import infer_task
from tests.client.students import own_models
from tests.common.learning.clouds import CLASSES, SHORT, clouds

HERE = own_models.__name__
CLOUDS = clouds(90)
X, Y = CLOUDS.X, CLOUDS.y


@pytest.mark.parametrize("name", ["boosted", "bayes"])
@pytest.mark.parametrize("several", [False, True], ids=["classes", "labels"])
def test_an_estimator_of_ones_own_learns_and_is_kept(name: str, several: bool, tmp_path: Path) -> None:
    y = np.eye(CLASSES, dtype=np.int64)[Y] if several else Y
    student = train(f"{HERE}:{name}", X, y, standardize=True, shape=(6,), classes=CLASSES)
    given = probabilities(student, X, CLASSES)
    assert (given.argmax(axis=1) == Y).mean() > 0.9
    save_student(student, tmp_path / "student.skops")
    assert np.array_equal(probabilities(load_student(tmp_path / "student.skops"), X, CLASSES), given)


def test_its_generators_are_seeded() -> None:
    model = f"{HERE}:boosted"
    once, again = (train(model, X, Y, standardize=False, seed=3) for _ in range(2))
    assert once[-1].random_state == 3
    assert np.array_equal(once.predict_proba(X), again.predict_proba(X))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (f"{HERE}:neighbours", "KNeighborsClassifier, which is not allowed"),
        (f"{HERE}:vectors", "tells no probabilities"),
        (f"{HERE}:network", "holds torch.nn.*Sequential, which is not allowed"),
        (f"{HERE}:nothing", "cannot be imported"),
        (f"{HERE}:counting", "cannot be trained .*Negative values"),
        ("nowhere:model", "cannot be imported"),
    ],
)
def test_a_factory_that_makes_no_student_is_refused(name: str, told: str) -> None:
    with pytest.raises(OstrakaError, match=told) as refused:
        train(name, X, Y, standardize=False)
    assert refused.value.code is ErrorCode.MODEL_INVALID


def test_a_student_is_cross_validated_as_any_classifier_is() -> None:
    student = make_student("supervised", learning=replace(SHORT, steps=20))
    assert is_classifier(student)
    assert cross_val_score(student, X, Y, cv=2).min() > 0.9


def test_a_student_takes_lists_and_records_without_labels() -> None:
    student = make_student("fixmatch", learning=SHORT)
    few = student.fit(X[:30].tolist(), Y[:30].tolist(), unlabeled=X[30:].tolist())
    assert few.score(X.tolist(), Y) > 0.9


@pytest.mark.parametrize("wrong", [["ant", "bee"] * 45, Y + 0.5, -Y])
def test_labels_that_are_no_classes_are_refused(wrong: object) -> None:
    with pytest.raises(OstrakaError) as refused:
        make_student("supervised", learning=SHORT).fit(X, np.asarray(wrong))
    assert refused.value.code is ErrorCode.DATA_LABEL_RANGE


def test_a_network_of_ones_own_learns_and_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, path = f"{HERE}:network", tmp_path / "student"
    factories.import_factory(name)
    student = make_student("supervised", network=name, classes=CLASSES, learning=SHORT).fit(X, Y)
    assert student.score(X, Y) > 0.9
    save_student(student, path)
    assert np.array_equal(load_student(path).predict_proba(X), student.predict_proba(X))
    monkeypatch.setattr(factories, "_asked", {})
    with pytest.raises(OstrakaError, match=f"made by {name}, which nobody named here") as refused:
        load_student(path)
    assert refused.value.code is ErrorCode.MODEL_INVALID


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "too_narrow",
            r"cannot take records of shape \(6,\) \(RuntimeError: mat1 and mat2 shapes .*2x6 and 5x3",
        ),
        ("double", "cannot take records|does not give 3 finite logits"),
        ("bayes", "gave no torch module"),
    ],
)
def test_a_network_of_other_records_or_classes_is_refused(name: str, told: str) -> None:
    factories.import_factory(f"{HERE}:{name}")
    with pytest.raises(OstrakaError, match=told):
        make_student("supervised", network=f"{HERE}:{name}", learning=SHORT).fit(X, Y)


def test_any_student_trains_a_network_of_ones_own_and_none_an_estimator() -> None:
    task = infer_task(from_arrays(X, Y), "clouds")
    chosen = Choice("fixmatch", model=f"{HERE}:network", steps=5).resolve(task)
    assert (chosen.network, chosen.kind, chosen.file) == (True, f"{HERE}:network", "student.safetensors")
    for choice, told in (
        (Choice("fixmatch", model=f"{HERE}:bayes"), "fixmatch is a network"),
        (Choice(model=f"{HERE}:bayes", steps=5), "takes no steps"),
    ):
        with pytest.raises(OstrakaError, match=told) as refused:
            choice.resolve(task)
        assert refused.value.code is ErrorCode.CONFIG_INVALID
