"""001, Equations 6 and 8, on labels that are randomised as parties do it."""

import numpy as np
import pytest

from client.label_dp.purify import label_counts, pseudo_labels, purified_accuracy
from common.mechanism import RandRes

RECORDS = 40_000


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
