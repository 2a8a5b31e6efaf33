"""What a round asks about."""

import numpy as np

from client.rounds.choosing import at_random, least_sure

BELIEVED = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8], [0.45, 0.55], [1.0, 0.0]])


def test_the_least_sure_records_that_were_not_asked_come_next() -> None:
    assert least_sure(BELIEVED, (), 2) == (1, 3)
    assert least_sure(BELIEVED, {1}, 2) == (2, 3)
    assert least_sure(BELIEVED, {1, 3}, 9) == (0, 2, 4)
    assert least_sure(BELIEVED, range(5), 1) == ()


def test_first_rows_are_drawn_from_a_seed() -> None:
    first = at_random(100, 10, seed=1)
    assert first == at_random(100, 10, seed=1)
    assert first != at_random(100, 10, seed=2)
    assert len(set(first)) == 10
    assert list(first) == sorted(first)
    assert at_random(3, 10, seed=0) == (0, 1, 2)
