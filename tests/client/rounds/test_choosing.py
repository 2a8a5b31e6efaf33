"""What a round asks about."""

import numpy as np
import pytest

from ostraka.client.rounds.learner import at_random, expected_errors, least_sure
from ostraka.common.datasets import from_arrays
from ostraka.common.task import Task, infer_task


def task(*, multi_label: bool) -> Task:
    y = np.array([[0, 1], [1, 0]]) if multi_label else np.array([0, 1])
    return infer_task(from_arrays(np.eye(2), y, classes=("a", "b")), "letters")


BELIEVED = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8], [0.45, 0.55], [1.0, 0.0]])
DOUBTS = expected_errors(BELIEVED, task(multi_label=False), ())
DIFFERENT = np.arange(100, dtype=np.float32)[:, None]


def test_the_least_sure_records_that_were_not_asked_come_next() -> None:
    assert least_sure(DOUBTS, DIFFERENT, (), 2) == (1, 3)
    assert least_sure(DOUBTS, DIFFERENT, {1}, 2) == (2, 3)
    assert least_sure(DOUBTS, DIFFERENT, {1, 3}, 9) == (0, 2, 4)
    assert least_sure(DOUBTS, DIFFERENT, range(5), 1) == ()


def test_first_rows_are_drawn_from_a_seed() -> None:
    first = at_random(DIFFERENT, 10, seed=1)
    assert first == at_random(DIFFERENT, 10, seed=1)
    assert first != at_random(DIFFERENT, 10, seed=2)
    assert len(set(first)) == 10
    assert list(first) == sorted(first)
    assert at_random(DIFFERENT[:3], 10, seed=0) == (0, 1, 2)


def test_of_equal_records_one_is_asked_a_round() -> None:
    features = np.array([[3.0], [0.0], [2.0], [-0.0], [1.0]], np.float32)
    assert least_sure(DOUBTS, features, (), 2) == (1, 2)
    assert least_sure(DOUBTS, features, {1}, 2) == (2, 3)
    assert len(at_random(features, 5, seed=0)) == 4
    assert at_random(np.zeros((9, 2), np.float32), 3, seed=0) in {(row,) for row in range(9)}


def test_of_several_labels_those_that_are_asked_count_by_what_is_expected_to_be_wrong() -> None:
    believed, several = np.array([[0.5, 0.9], [0.6, 0.6], [1.0, 0.0]]), task(multi_label=True)
    assert expected_errors(believed, several, ()).tolist() == pytest.approx([0.6, 0.8, 0.0])
    assert expected_errors(believed, several, (0,)).tolist() == pytest.approx([0.5, 0.4, 0.0])
    assert DOUBTS.tolist() == pytest.approx([0.1, 0.5, 0.2, 0.45, 0.0])
