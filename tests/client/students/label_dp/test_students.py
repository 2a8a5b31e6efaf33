"""Students that learn from private labels, on records that are easy to tell apart."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone

from ostraka.client.students.files import load_student, save_student
from ostraka.client.students.label_dp.denoise_ssl import purify
from ostraka.client.students.neural import Neural
from ostraka.client.students.registry import STUDENTS, make_student
from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.data import Labelled
from ostraka.common.learning.training_run import UNWATCHED, TrainingRun
from ostraka.services.hosting.records import randomize, randomize_labels
from tests.common.learning.clouds import CLASSES, SHORT, clouds, labels

KINDS = ("ldp-normal", "ldp-ssl", "denoise-ssl", "aug-descent")
RECORDS = 600


def private(epsilon: float, seed: int = 0) -> Labelled:
    """Return records with randomised labels, the same for the same seed."""
    records = clouds(RECORDS, seed)
    drawn = randomize(records.y, CLASSES, epsilon, np.random.default_rng(seed).bytes)
    return Labelled(records.X, drawn)


def student(kind: str, **options: Any) -> Neural:
    given: dict[str, Any] = {"learning": SHORT, "classes": CLASSES}
    return make_student(kind, **given | options)


@pytest.mark.heavy
@pytest.mark.parametrize("kind", KINDS)
def test_a_student_is_better_than_the_labels_it_learned(kind: str) -> None:
    test, given = clouds(300, seed=5), private(1.0)
    right = float((given.y == clouds(RECORDS).y).mean())
    assert right < 0.65
    learned = student(kind, learning=replace(SHORT, steps=160)).learn_from(given, clouds(60, seed=7).X)
    assert learned.score(test.X, test.y) > right + 0.2
    np.testing.assert_allclose(learned.predict_proba(test.X).sum(axis=1), 1, rtol=1e-5)


@pytest.mark.heavy
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_student_also_from_a_file(kind: str, tmp_path: Path) -> None:
    given, X = private(2.0), clouds(40, seed=5).X
    learned = student(kind, seed=3).learn_from(given)
    again = clone(learned).learn_from(given)
    save_student(learned, tmp_path / "student")
    for other in (again, load_student(tmp_path / "student")):
        assert type(other) is STUDENTS[kind]
        np.testing.assert_array_equal(other.predict_proba(X), learned.predict_proba(X))


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["ldp-normal", "ldp-ssl"])
def test_each_of_several_labels_is_learned_from_those_that_were_drawn(kind: str) -> None:
    records, test = labels(900), labels(300, seed=5)
    drawn = randomize_labels(records.y, 2.0, np.random.default_rng(0).bytes)
    assert (drawn == UNKNOWN).any()
    right = float((drawn == (records.y == 1))[drawn != UNKNOWN].mean())
    assert right < 0.9
    learned = make_student(kind, learning=replace(SHORT, steps=160))
    assert learned.learn_from(Labelled(records.X, drawn)).score(test.X, test.y) > right + 0.05


@pytest.mark.parametrize("kind", ["denoise-ssl", "aug-descent"])
def test_several_labels_are_refused(kind: str) -> None:
    with pytest.raises(OstrakaError, match=f"student {kind} learns one label") as refused:
        make_student(kind, learning=SHORT).learn_from(labels(30))
    assert refused.value.code == ErrorCode.CONFIG_INVALID


@pytest.mark.parametrize("kind", KINDS)
def test_labels_of_one_class_are_refused(kind: str) -> None:
    with pytest.raises(OstrakaError) as refused:
        student(kind).learn_from(Labelled(clouds(30).X, np.zeros(30, np.int64)))
    assert refused.value.code == ErrorCode.DATA_TOO_FEW


def test_own_labels_are_enough_for_the_validation_of_a_student() -> None:
    learned = student("denoise-ssl").learn_from(private(1.0), None, clouds(90, seed=2))
    assert learned.history_.looks[-1].error is not None


def test_denoising_keeps_what_agrees_with_the_cluster_and_what_is_known_to_be_right() -> None:
    X = np.arange(7, dtype=np.float32)[:, None]
    y = np.array([0, 0, 1, 1, 1, 0])
    assignments = np.array([0, 0, 0, 1, 1, 1, 1], np.int32)
    kept, rest = purify(Labelled(X[:6], y), X, assignments, 2)
    assert kept.X.ravel().tolist() == [0, 1, 3, 4]
    assert kept.y.tolist() == [0, 0, 1, 1]
    assert rest.ravel().tolist() == [2, 5, 6]
    error = np.full(6, 0.3, np.float32)
    error[2] = 0
    kept, rest = purify(Labelled(X[:6], y, error), X, assignments, 2)
    assert kept.X.ravel().tolist() == [0, 1, 2, 3, 4]
    assert kept.error is None
    assert rest.ravel().tolist() == [5, 6]


def test_clusters_that_all_have_one_majority_are_refused() -> None:
    X, y = np.zeros((6, 2), np.float32), np.array([0, 0, 0, 0, 1, 1])
    with pytest.raises(OstrakaError, match="all of one class") as refused:
        purify(Labelled(X, y), X, np.zeros(6, np.int32), 2)
    assert refused.value.code == ErrorCode.DATA_TOO_FEW


def test_denoising_takes_clusters_and_clusterer_as_told() -> None:
    name = "sklearn.mixture:GaussianMixture"
    learned = student("denoise-ssl", n_clusters=6, clusterer=name).learn_from(private(1.0))
    assert learned.get_params()["clusterer"] == name
    test = clouds(300, seed=5)
    assert learned.score(test.X, test.y) > 0.9
    with pytest.raises(OstrakaError, match="no clusterer nowhere:none"):
        student("denoise-ssl", clusterer="nowhere:none").learn_from(private(1.0))


@pytest.mark.parametrize("kind", ["denoise-ssl", "aug-descent"])
def test_a_few_labels_that_are_known_to_be_right_need_no_clusters(kind: str) -> None:
    own = clouds(16)
    more = {"n_clusters": 30} if kind == "denoise-ssl" else {}
    learned = student(kind, **more).learn_from(replace(own, error=np.zeros(16, np.float32)))
    test = clouds(200, seed=5)
    assert learned.score(test.X, test.y) > 0.8


def interrupted(fit: Any, after: int) -> None:
    """Run a training that is killed once `after` steps are done."""

    def killed(done: int, total: int) -> None:
        if done > after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(killed)


@pytest.mark.heavy
def test_aug_descent_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    given, X, file = private(2.0), clouds(40, seed=5).X, tmp_path / "checkpoint"
    seen: list[int] = []

    def watched(done: int, total: int) -> None:
        seen.append(done)

    def made(run: TrainingRun = UNWATCHED) -> NDArray[np.float64]:
        return student("aug-descent").learn_from(given, run=run).predict_proba(X)

    whole = made()
    interrupted(lambda progress: made(TrainingRun(progress, file)), after=20)
    assert file.exists()
    np.testing.assert_array_equal(made(TrainingRun(watched, file)), whole)
    assert min(seen) > 10
    assert not file.exists()


@pytest.mark.heavy
@pytest.mark.parametrize("other", [{"seed": 1}, {"rounds": 2}, {"weight": 1.0}])
def test_a_checkpoint_of_another_training_is_not_used(tmp_path: Path, other: dict[str, Any]) -> None:
    given, X, file = private(2.0), clouds(40, seed=5).X, tmp_path / "checkpoint"
    interrupted(
        lambda told: student("aug-descent", **other).learn_from(given, run=TrainingRun(told, file)),
        after=20,
    )
    expected = student("aug-descent").learn_from(given).predict_proba(X)
    found = student("aug-descent").learn_from(given, run=TrainingRun(checkpoint=file)).predict_proba(X)
    np.testing.assert_array_equal(found, expected)
    file.write_bytes(b"damaged")
    found = student("aug-descent").learn_from(given, run=TrainingRun(checkpoint=file)).predict_proba(X)
    np.testing.assert_array_equal(found, expected)


def test_aug_descent_needs_a_round() -> None:
    with pytest.raises(OstrakaError, match="at least 1 round") as refused:
        student("aug-descent", rounds=0).learn_from(private(2.0))
    assert refused.value.code == ErrorCode.CONFIG_INVALID


@pytest.mark.heavy
def test_aug_descent_counts_the_steps_of_both_networks() -> None:
    told: list[tuple[int, int]] = []
    learned = student("aug-descent", rounds=3).learn_from(
        private(2.0), run=TrainingRun(lambda done, total: told.append((done, total)))
    )
    steps = [done for done, _ in told]
    assert steps == sorted(steps)
    assert told[-1][0] == told[-1][1] <= SHORT.steps
    assert [look.step for look in learned.history_.looks] == sorted(
        look.step for look in learned.history_.looks
    )
    assert len(learned.history_.looks) == 4
