"""Gains and their intervals, against scikit-learn and against samples of their own."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score

from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.learning.accuracy import measure
from ostraka.common.learning.gain import gain

RNG = np.random.default_rng(5)


def one_hot(classes: NDArray[np.int64], names: int = 3) -> NDArray[np.float64]:
    return np.equal(classes[:, None], np.arange(names)).astype(np.float64)


def test_estimates_are_those_of_all_records() -> None:
    y = RNG.integers(0, 3, 200)
    after, before = (np.where(RNG.random(200) < right, y, 0) for right in (0.8, 0.3))
    found = gain(y, one_hot(after), one_hot(before))
    assert found.records == 200
    assert found.accuracy.estimate == pytest.approx((after == y).mean())
    assert found.majority == pytest.approx(np.bincount(y).max() / 200)
    assert found.over_majority.estimate == pytest.approx(found.accuracy.estimate - found.majority)
    assert found.balanced_accuracy.estimate == pytest.approx(balanced_accuracy_score(y, after))
    assert found.over_own is not None
    assert found.over_own.estimate == pytest.approx((after == y).mean() - (before == y).mean())
    assert found.balanced_over_own is not None
    assert found.balanced_over_own.estimate == pytest.approx(
        balanced_accuracy_score(y, after) - balanced_accuracy_score(y, before)
    )


def test_labels_are_balanced_one_by_one() -> None:
    y = RNG.integers(0, 2, (100, 2))
    said = np.where(RNG.random((100, 2)) < 0.8, y, 1 - y)
    found = gain(y, said.astype(float), None)
    each = [balanced_accuracy_score(y[:, label], said[:, label]) for label in range(2)]
    assert found.balanced_accuracy.estimate == pytest.approx(np.mean(each))
    assert found.accuracy.estimate == pytest.approx((said == y).mean())
    assert found.over_own is None
    assert (found.multi_label, found.most_frequent) == (True, "")


def test_an_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    rng, held = np.random.default_rng(1), 0
    for _ in range(40):
        y = rng.integers(0, 3, 150)
        after = np.where(rng.random(150) < 0.7, y, (y + 1) % 3)
        accuracy = gain(y, one_hot(after), None).accuracy
        held += accuracy.low <= 0.7 <= accuracy.high
    assert held > 20, "p < 1e-9 for 40 intervals of 90% and more"


def test_always_saying_the_most_frequent_class_gains_nothing() -> None:
    y = np.array([0] * 90 + [1] * 10)
    found = gain(y, one_hot(np.zeros(100, int), 2), None, ("no", "yes"))
    assert (found.multi_label, found.most_frequent) == (False, "no")
    assert (found.over_majority.estimate, found.over_majority.high) == (0, 0)
    assert found.balanced_accuracy.estimate == 0.5


def test_a_label_that_nobody_knows_of_any_record_leaves_the_mean_to_the_others() -> None:
    y = RNG.integers(0, 2, (100, 2))
    said = np.where(RNG.random((100, 2)) < 0.8, y, 1 - y)
    hidden = y.copy()
    hidden[:, 1] = UNKNOWN
    found = gain(hidden, said.astype(float), None)
    assert found.balanced_accuracy.estimate == pytest.approx(balanced_accuracy_score(y[:, 0], said[:, 0]))


def test_labels_that_nobody_knows_do_not_count() -> None:
    y = RNG.integers(0, 2, (100, 2))
    said = np.where(RNG.random((100, 2)) < 0.8, y, 1 - y).astype(float)
    hidden = y.copy()
    hidden[:40, 1] = UNKNOWN
    found = gain(hidden, said, None)
    known = [balanced_accuracy_score(y[:, 0], said[:, 0]), balanced_accuracy_score(y[40:, 1], said[40:, 1])]
    assert found.balanced_accuracy.estimate == pytest.approx(np.mean(known))
    right = (said == y)[hidden != UNKNOWN]
    assert found.accuracy.estimate == pytest.approx(right.mean())
    figures = measure(hidden, said, ("a", "b"))
    assert figures.balanced_accuracy == pytest.approx(np.mean(known))
