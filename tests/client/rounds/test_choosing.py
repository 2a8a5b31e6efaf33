"""What a round asks about."""

import numpy as np

from ostraka.client.rounds.choosing import at_random, least_sure

BELIEVED = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8], [0.45, 0.55], [1.0, 0.0]])
DIFFERENT = np.arange(100, dtype=np.float32)[:, None]


def test_the_least_sure_records_that_were_not_asked_come_next() -> None:
    assert least_sure(BELIEVED, DIFFERENT, (), 2) == (1, 3)
    assert least_sure(BELIEVED, DIFFERENT, {1}, 2) == (2, 3)
    assert least_sure(BELIEVED, DIFFERENT, {1, 3}, 9) == (0, 2, 4)
    assert least_sure(BELIEVED, DIFFERENT, range(5), 1) == ()


def test_first_rows_are_drawn_from_a_seed() -> None:
    first = at_random(DIFFERENT, 10, seed=1)
    assert first == at_random(DIFFERENT, 10, seed=1)
    assert first != at_random(DIFFERENT, 10, seed=2)
    assert len(set(first)) == 10
    assert list(first) == sorted(first)
    assert at_random(DIFFERENT[:3], 10, seed=0) == (0, 1, 2)


def test_of_equal_records_one_is_asked_a_round() -> None:
    features = np.array([[3.0], [0.0], [2.0], [-0.0], [1.0]], np.float32)
    assert least_sure(BELIEVED, features, (), 2) == (1, 2)
    assert least_sure(BELIEVED, features, {1}, 2) == (2, 3)
    assert len(at_random(features, 5, seed=0)) == 4
    assert at_random(np.zeros((9, 2), np.float32), 3, seed=0) in {(row,) for row in range(9)}
