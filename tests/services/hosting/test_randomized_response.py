"""Labels drawn anew: how often each comes, and what that tells."""

import secrets
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import RandRes, RandResLabels
from ostraka.services.hosting.records import NOT_DRAWN, randomize, randomize_labels
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


def answered(y: str, epsilon: float) -> NDArray[np.int64]:
    """How often each answer came to a record's labels, as numbers of base 3: not drawn, no, yes."""
    labels = np.array([[int(bit) for bit in y]])
    given = randomize_labels(np.repeat(labels, DRAWS, axis=0), epsilon) - NOT_DRAWN
    places = 3 ** np.arange(len(y))
    return np.bincount(given @ places, minlength=3 ** len(y))


def chances(y: str, epsilon: float) -> NDArray[np.float64]:
    """Of each answer: `drawn` labels of equal chance, which are told, or else coins."""
    mechanism, labels = RandResLabels(epsilon=epsilon), len(y)
    drawn, told = mechanism.drawn(labels), mechanism.truth(labels)
    found = np.zeros(3**labels)
    subsets = list(combinations(range(labels), drawn))
    for subset in subsets:
        for bits in product((0, 1), repeat=drawn):
            place = sum((1 + bit) * 3**label for label, bit in zip(subset, bits, strict=True))
            true = all(bit == int(y[label]) for label, bit in zip(subset, bits, strict=True))
            found[place] += ((1 - told) / 2**drawn + told * true) / len(subsets)
    return found


@pytest.mark.parametrize(
    ("y", "epsilon"), [("1", 0.5), ("010", 1.0), ("011", 2.0), ("1010", 2.5), ("10", 6.0)]
)
def test_label_sets_come_as_often_as_calculated(y: str, epsilon: float) -> None:
    assert agrees(answered(y, epsilon), chances(y, epsilon))


@pytest.mark.parametrize(("y", "other"), [("000", "111"), ("011", "100")])
def test_neighbouring_label_vectors_tell_no_more_than_epsilon_and_nearly_as_much(y: str, other: str) -> None:
    both = answered(y, 2.0), answered(other, 2.0)
    assert 1.7 < least_epsilon(both, (chances(y, 2.0), chances(other, 2.0)), 0.0) <= 2.0


def test_labels_that_are_told_too_often_are_found() -> None:
    both = answered("000", 2.5), answered("111", 2.5)
    exact = chances("000", 2.0), chances("111", 2.0)
    assert not agrees(both[0], exact[0])
    assert least_epsilon(both, exact, 0.0) > 2.0


def test_labels_are_told_below_their_steps_and_coins_from_there_on() -> None:
    """Of three labels those two are drawn at which the permutation that sorts the words has a 0 or 1."""
    mechanism = RandResLabels(epsilon=2.0)
    steps, ranks = mechanism.told_steps(3), words(5, 6, 7) + words(7, 6, 5)
    random = Scripted(words(steps - 1, steps), bytes([0b00011100]), ranks)
    y = np.array([[1, 0, 1], [0, 0, 1]])
    assert randomize_labels(y, 2.0, random).tolist() == [[1, 0, NOT_DRAWN], [NOT_DRAWN, 1, 1]]
    assert not random.chunks


@given(st.data())
def test_as_many_labels_are_answered_as_are_drawn(data: st.DataObject) -> None:
    labels, epsilon = data.draw(st.integers(1, 40)), data.draw(st.floats(1e-3, 50))
    y = np.array(
        data.draw(st.lists(st.lists(st.integers(0, 1), min_size=labels, max_size=labels), min_size=1))
    )
    found = randomize_labels(y, epsilon)
    assert found.shape == y.shape
    assert set(np.unique(found)) <= {NOT_DRAWN, 0, 1}
    assert ((found != NOT_DRAWN).sum(axis=1) == RandResLabels(epsilon=epsilon).drawn(labels)).all()


def test_which_labels_are_drawn_and_how_many_bytes_depends_on_no_label() -> None:
    seeds: list[list[int]] = []
    found = []
    for bit in (0, 1):
        source = np.random.default_rng(0)
        seeds.append([])

        def random(size: int) -> bytes:
            seeds[-1].append(size)
            return source.bytes(size)  # noqa: B023

        found.append(randomize_labels(np.full((100, 9), bit), 1.0, random) == NOT_DRAWN)
    assert seeds[0] == seeds[1]
    assert np.array_equal(*found)


def test_a_label_that_is_not_known_is_told_as_no_and_never_left_out() -> None:
    assert np.array_equal(randomize_labels(np.full((50, 2), -1), 400.0), np.zeros((50, 2)))


def test_an_epsilon_that_tells_no_label_is_refused() -> None:
    with pytest.raises(OstrakaError, match="ask for a larger epsilon") as refused:
        randomize_labels(np.zeros((3, 4), dtype=np.int64), 1e-20)
    assert refused.value.code is ErrorCode.PLAN_INVALID
