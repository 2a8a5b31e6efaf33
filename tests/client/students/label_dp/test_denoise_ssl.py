"""Tang et al. 2022, Equations 6 and 8, on labels that are randomised as parties do it."""

import numpy as np
import pytest
from scipy.stats import binomtest

from ostraka.client.students.label_dp.denoise_ssl import label_counts, pseudo_labels
from ostraka.common.mechanism import RandRes
from ostraka.services.hosting.records import randomize

RECORDS = 40_000
LEAST = 1e-9
"""Probability below which an outcome is no accident."""


def purified_accuracy(epsilon: float, pseudo: float) -> float:
    """Return the accuracy of RandRes labels that agree with pseudo labels (Tang et al. 2022, Equation 8)."""
    return 1 / (1 + (1 - pseudo) / pseudo * float(np.exp(-epsilon)))


def test_label_counts_are_of_every_cluster_and_class() -> None:
    counts = label_counts(np.array([0, 0, 2], np.int32), np.array([1, 1, 0]), 4, 2)
    assert counts.tolist() == [[0, 2], [0, 0], [1, 0], [0, 0]]


def test_pseudo_labels_are_the_majority_of_a_cluster() -> None:
    assignments = np.array([0, 0, 0, 1, 1], np.int32)
    assert pseudo_labels(assignments, np.array([2, 2, 1, 1, 0]), 3, 3).tolist() == [2, 2, 2, 0, 0]


def test_pseudo_labels_that_say_nothing_purify_nothing() -> None:
    for classes in (2, 10):
        truth = RandRes(epsilon=1.0).truth(classes)
        assert purified_accuracy(1.0, 1 / classes) == pytest.approx(truth)


@pytest.mark.parametrize("classes", [2, 10])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_equation_6_private_labels_are_right_as_often_as_it_says(epsilon: float, classes: int) -> None:
    y = np.random.default_rng(0).integers(classes, size=RECORDS)
    right = int((randomize(y, classes, epsilon) == y).sum())
    expected = np.exp(epsilon) / (np.exp(epsilon) + classes - 1)
    assert binomtest(right, RECORDS, expected).pvalue > LEAST


@pytest.mark.parametrize("pseudo_accuracy", [0.1, 0.3, 0.9])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_equation_8_purified_labels_are_right_as_often_as_it_says(
    epsilon: float, pseudo_accuracy: float
) -> None:
    """Whatever pseudo labels are wrong, and however they are: here one class is never guessed."""
    classes = 10
    random = np.random.default_rng(0)
    y = random.integers(classes, size=RECORDS)
    guessed = random.permutation(RECORDS) < pseudo_accuracy * RECORDS
    pseudo = np.where(guessed, y, (y + 1) % (classes - 1))
    noisy = randomize(y, classes, epsilon)
    agree = noisy == pseudo
    expected = purified_accuracy(epsilon, float((pseudo == y).mean()))
    assert expected >= np.exp(epsilon) / (np.exp(epsilon) + classes - 1) - 1e-12
    right = int((agree & (noisy == y)).sum())
    assert binomtest(right, int(agree.sum()), expected).pvalue > LEAST


def test_equation_8_would_find_labels_that_are_right_too_often() -> None:
    y = np.random.default_rng(0).integers(10, size=RECORDS)
    noisy = randomize(y, 10, 1.5)
    pseudo = np.where(np.arange(RECORDS) % 2 == 0, y, (y + 1) % 10)
    agree = noisy == pseudo
    right = int((agree & (noisy == y)).sum())
    assert binomtest(right, int(agree.sum()), purified_accuracy(1.0, 0.5)).pvalue < LEAST
