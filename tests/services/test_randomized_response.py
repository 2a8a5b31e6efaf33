"""Labels drawn anew: how often each comes, and what that tells."""

import secrets

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import RandRes
from ostraka.services.randomized_response import randomize
from tests.privacy.evidence import agrees, least_epsilon

DRAWS = 60_000


def drawn(label: int, classes: int, epsilon: float) -> NDArray[np.int64]:
    """How often each label came for a true one."""
    y = randomize(np.full(DRAWS, label), classes, epsilon)
    return np.bincount(y, minlength=classes)


def expected(label: int, classes: int, epsilon: float) -> NDArray[np.float64]:
    """Equation 6 of Tang et al. 2022."""
    odds = np.where(np.arange(classes) == label, np.exp(epsilon), 1.0)
    return np.asarray(odds / odds.sum())


@pytest.mark.parametrize(("classes", "epsilon"), [(2, 0.1), (2, 3.0), (10, 0.5), (10, 4.0), (200, 2.0)])
def test_labels_come_as_often_as_equation_6_says(classes: int, epsilon: float) -> None:
    for label in (0, classes // 2, classes - 1):
        assert agrees(drawn(label, classes, epsilon), expected(label, classes, epsilon))


@pytest.mark.parametrize("classes", [2, 7])
def test_neighbouring_labels_tell_no_more_than_epsilon_and_nearly_as_much(classes: int) -> None:
    both = drawn(0, classes, 1.0), drawn(1, classes, 1.0)
    exact = expected(0, classes, 1.0), expected(1, classes, 1.0)
    assert 0.8 < least_epsilon(both, exact, 0.0) <= 1.0


@pytest.mark.parametrize("classes", [2, 7])
def test_a_truth_that_is_too_likely_is_found(classes: int) -> None:
    both = drawn(0, classes, 1.25), drawn(1, classes, 1.25)
    exact = expected(0, classes, 1.0), expected(1, classes, 1.0)
    assert not agrees(both[0], exact[0])
    assert least_epsilon(both, exact, 0.0) > 1.0


def words(*values: int) -> bytes:
    return b"".join(value.to_bytes(8, "little") for value in values)


class Scripted:
    """Random bytes that somebody wrote down, all of which must be taken."""

    def __init__(self, *chunks: bytes) -> None:
        self.chunks = list(chunks)

    def __call__(self, size: int) -> bytes:
        chunk = self.chunks.pop(0)
        assert len(chunk) == size
        return chunk


def test_the_truth_stands_below_its_steps_and_another_label_from_there_on() -> None:
    steps = RandRes(epsilon=1.0).truth_steps(4)
    random = Scripted(words(0, steps - 1, steps, 2**64 - 1), words(0, 1, 1, 2))
    assert randomize(np.array([2, 0, 0, 3]), 4, 1.0, random).tolist() == [2, 0, 2, 2]
    assert not random.chunks


def test_words_beyond_the_last_multiple_are_drawn_again() -> None:
    """2^64 is 1 more than a multiple of 3."""
    random = Scripted(words(2**64 - 1, 2**64 - 1), words(2**64 - 1, 2**64 - 2), words(2**64 - 1), words(4))
    assert randomize(np.array([0, 0]), 4, 1.0, random).tolist() == [2, 3]
    assert not random.chunks


@given(st.data())
def test_every_label_is_one_of_the_classes(data: st.DataObject) -> None:
    classes = data.draw(st.integers(2, 300))
    y = np.array(data.draw(st.lists(st.integers(0, classes - 1), max_size=50)), dtype=np.int64)
    found = randomize(y, classes, data.draw(st.floats(1e-3, 50)))
    assert found.shape == y.shape
    assert found.dtype == np.int64
    assert ((found >= 0) & (found < classes)).all()


def test_as_many_bytes_are_drawn_whatever_the_labels() -> None:
    asked: list[list[int]] = []
    for label in (0, 1):
        asked.append([])

        def random(size: int) -> bytes:
            asked[-1].append(size)
            return secrets.token_bytes(size)

        randomize(np.full(100, label), 2, 1.0, random)
    assert asked[0] == asked[1] == [800, 800]


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 1e-19, float("nan")])
def test_an_epsilon_that_draws_no_label_is_refused(epsilon: float) -> None:
    with pytest.raises(OstrakaError, match="epsilon") as refused:
        randomize(np.zeros(3, dtype=np.int64), 10, epsilon)
    assert refused.value.code is ErrorCode.PLAN_INVALID
