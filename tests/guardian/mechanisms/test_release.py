"""Every mechanism through `release`: shapes, noise asked for, plain results without noise."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ostraka.common.mechanism import (
    L1,
    Binary,
    Check,
    Confident,
    GnMax,
    Interactive,
    LnMax,
    Mechanism,
    NoiseCluster,
    Powerset,
    RandRes,
    RandResLabels,
    Tau,
)
from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.ring import Ring
from ostraka.guardian.mechanisms import Answers, release
from ostraka.guardian.noise import ExactNoise
from tests.guardian.mechanisms.scripted import Scripted
from tests.privacy.evidence import agrees

RINGS = pytest.mark.parametrize("ring", [Ring(32), Ring(64)], ids=["32", "64"])
CHECK = Check(sigma=1.0, threshold=5.0)
LABELS = 3
TEACHERS = 10
EVERY: list[Mechanism] = [
    GnMax(sigma=7.0),
    NoiseCluster(sigma=7.0),
    RandRes(epsilon=1.0),
    LnMax(gamma=0.25),
    Confident(sigma1=10.0, sigma2=5.0, threshold=5.0),
    Interactive(sigma1=10.0, sigma2=5.0, threshold=5.0, confidence=0.9),
    *(Binary(sigma=7.0, check=check) for check in (None, CHECK)),
    *(Tau(sigma=7.0, tau=1.0, check=check) for check in (None, CHECK)),
    *(L1(sigma=7.0, tau1=1.0, check=check) for check in (None, CHECK)),
    *(Powerset(sigma=7.0, max_positives=2, check=check) for check in (None, CHECK)),
]
MECHANISMS = pytest.mark.parametrize("mechanism", EVERY, ids=str)


def released(counts: Any, mechanism: Mechanism, noise: Scripted, ring: Ring, scores: Any = None) -> Answers:
    sums = encode(np.array(counts), ring)
    given_scores = None if scores is None else np.array(scores, dtype=np.int64)
    totals = np.full(len(sums), TEACHERS << 16)
    return release(sums, mechanism, noise, ring, classes=LABELS, totals=totals, scores=given_scores)


@RINGS
@MECHANISMS
@pytest.mark.parametrize("queries", [0, 1, 4])
def test_shapes(mechanism: Mechanism, queries: int, ring: Ring) -> None:
    counts = np.zeros((queries, mechanism.width(LABELS)), dtype=np.int64)
    scores = np.zeros((queries, LABELS), dtype=np.int64)
    answers = released(counts, mechanism, Scripted(0, 0, 0), ring, scores)
    assert answers.answered.shape == answers.labels.shape == (queries, mechanism.answers(LABELS))
    assert answers.answered.dtype == np.bool_
    assert answers.labels.dtype == np.int64
    assert ((answers.labels == -1) == ~answers.answered).all()


@pytest.mark.parametrize(
    ("mechanism", "asked"),
    [
        (GnMax(sigma=7.0), [(7, (2, 3))]),
        (NoiseCluster(sigma=7.0), [(7, (2, 3))]),
        (RandRes(epsilon=1.0), []),
        (RandResLabels(epsilon=1.0), []),
        (LnMax(gamma=0.25), [(4, (2, 3))]),
        (Confident(sigma1=10.0, sigma2=5.0, threshold=5.0), [(10, (2,)), (5, (2, 3))]),
        (Interactive(sigma1=10.0, sigma2=5.0, threshold=5.0, confidence=0.9), [(10, (2,)), (5, (2, 3))]),
        (Binary(sigma=7.0), [(7, (2, 2, 3))]),
        (Tau(sigma=7.0, tau=1.0, check=CHECK), [(1, (2, 3)), (7, (2, 2, 3))]),
        (Powerset(sigma=7.0, max_positives=1, check=CHECK), [(1, (2,)), (7, (2, 4))]),
        (Powerset(sigma=7.0), [(7, (2, 8))]),
    ],
    ids=str,
)
def test_one_draw_for_every_coordinate_whatever_the_checks_say(
    mechanism: Mechanism, asked: list[tuple[float, tuple[int, ...]]]
) -> None:
    noise = Scripted(-100, 0)
    counts = np.zeros((2, mechanism.width(LABELS)), dtype=np.int64)
    released(counts, mechanism, noise, Ring(64), np.zeros((2, LABELS)))
    assert noise.asked == asked


@RINGS
@pytest.mark.parametrize("mechanism", EVERY[:6], ids=str)
def test_without_noise_the_class_with_the_most_votes_wins(mechanism: Mechanism, ring: Ring) -> None:
    answers = released(
        [[3, 1, 6], [8, 1, 1], [1, 9, 0]], mechanism, Scripted(0, 0), ring, np.zeros((3, LABELS))
    )
    assert answers.labels.tolist() == [[2], [0], [1]]


@RINGS
@pytest.mark.parametrize("mechanism", EVERY[6:12], ids=str)
def test_without_noise_the_labels_of_the_majority_are_released(mechanism: Mechanism, ring: Ring) -> None:
    answers = released([[6, 4, 10], [0, 9, 3]], mechanism, Scripted(0, 0), ring)
    assert answers.answered.all()
    assert answers.labels.tolist() == [[1, 0, 1], [0, 1, 0]]


@RINGS
@pytest.mark.parametrize("mechanism", EVERY[12:], ids=str)
def test_without_noise_the_most_frequent_set_is_released(mechanism: Mechanism, ring: Ring) -> None:
    """In the order {}, {0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}."""
    counts = [[0, 1, 0, 0, 2, 7, 0], [8, 2, 0, 0, 0, 0, 0], [0, 0, 0, 6, 2, 2, 0]]
    answers = released(counts, mechanism, Scripted(0, 0, -1), ring)
    assert answers.labels.tolist() == [[1, 0, 1], [0, 0, 0], [0, 0, 1]]


@RINGS
@MECHANISMS
@given(data=st.data())
def test_a_random_sum_is_answered_like_any_other(
    mechanism: Mechanism, ring: Ring, data: st.DataObject
) -> None:
    width = mechanism.width(LABELS)
    values = data.draw(st.lists(st.integers(0, 2**ring.bits - 1), min_size=width, max_size=width))
    sums: NDArray[Any] = np.array([values], dtype=ring.dtype)
    scores = np.array([[2**16, 0, 0]])
    totals = np.array([data.draw(st.integers(0, TEACHERS << 16))])
    answers = release(
        sums,
        mechanism,
        Scripted(3, 0, 0),
        ring,
        classes=LABELS,
        totals=totals,
        scores=scores,
    )
    largest = 1 if mechanism.multi_label else LABELS - 1
    assert (answers.labels <= largest).all()
    assert ((answers.labels >= 0) == answers.answered).all()


def test_interactive_without_scores_says_what_is_missing() -> None:
    mechanism = Interactive(sigma1=1.0, sigma2=1.0, threshold=5.0, confidence=0.9)
    with pytest.raises(ValueError, match="scores"):
        released([[3, 1, 6]], mechanism, Scripted(0, 0), Ring(64))


@RINGS
def test_votes_against_a_label_are_what_is_missing_to_the_querys_own_total(ring: Ring) -> None:
    sums = encode(np.array([[1.5, 0.5, 0.0], [1.5, 2.5, 0.0], [0.0, 0.0, 0.0]]), ring)
    totals = np.array([2.5, 3.5, 0.0]) * 2**16
    answers = release(
        sums,
        Binary(sigma=1.0, check=Check(sigma=1.0, threshold=2.0)),
        Scripted(0, 0),
        ring,
        classes=LABELS,
        totals=totals.astype(np.int64),
    )
    assert answers.labels.tolist() == [[-1, 0, 0], [0, 1, 0], [-1, -1, -1]]


@RINGS
@given(
    st.lists(st.integers(0, 3 * 2**16), min_size=LABELS, max_size=LABELS),
    st.lists(st.integers(0, 2**16), min_size=LABELS, max_size=LABELS),
)
def test_interactive_weighs_the_scores_by_the_querys_own_total_rounded_down_to_the_lattice(
    ring: Ring, steps: list[int], scores: list[int]
) -> None:
    total = sum(steps)
    largest = max(n - total + total * (2**16 - p) // 2**16 for n, p in zip(steps, scores, strict=True))
    mechanism = Interactive(sigma1=1.0, sigma2=1.0, threshold=1.0, confidence=0.9)
    for missing in (2**16 - largest, 2**16 - largest - 1):
        answers = release(
            np.array([steps], dtype=ring.dtype),
            mechanism,
            Scripted(missing / 2**16, 0),
            ring,
            classes=LABELS,
            totals=np.array([total]),
            scores=np.array([scores]),
        )
        assert answers.answered[0, 0] == (largest + missing >= 2**16)


@RINGS
@MECHANISMS
def test_queries_on_which_nobody_votes_are_answered_like_any_other(mechanism: Mechanism, ring: Ring) -> None:
    sums = np.zeros((3, mechanism.width(LABELS)), dtype=ring.dtype)
    scores = np.full((3, LABELS), 2**15)
    answers = release(
        sums,
        mechanism,
        ExactNoise(),
        ring,
        classes=LABELS,
        totals=np.zeros(3, dtype=np.int64),
        scores=scores,
    )
    assert answers.labels.shape == (3, mechanism.answers(LABELS))


@RINGS
def test_labels_that_come_equally_often_are_released_equally_often(ring: Ring) -> None:
    counts = np.tile([2, 0, 2], (4_000, 1))
    sums = encode(counts, ring)
    totals = np.full(len(sums), 4 << 16)
    answers = release(sums, RandRes(epsilon=1.0), ExactNoise(), ring, classes=LABELS, totals=totals)
    assert answers.answered.all()
    found = np.bincount(answers.labels[:, 0], minlength=3)
    assert agrees(found, np.array([0.5, 0.0, 0.5]))


@RINGS
def test_nothing_is_released_of_records_that_nobody_has(ring: Ring) -> None:
    answers = released([[0, 0, 0], [0, 1, 0]], RandRes(epsilon=1.0), Scripted(), ring)
    assert answers.labels.tolist() == [[-1], [1]]


def test_each_label_is_what_more_records_say_and_nothing_where_none_does() -> None:
    """Noes to three labels, then yeses."""
    counts = [[0, 2, 1, 1, 0, 0], [0, 0, 0, 0, 3, 0]]
    answers = released(counts, RandResLabels(epsilon=1.0), Scripted(), Ring(64))
    assert answers.labels.tolist() == [[1, 0, 0], [-1, 1, -1]]


def test_noes_and_yeses_that_come_equally_often_are_released_equally_often() -> None:
    sums = encode(np.tile([1, 0, 0, 1, 2, 0], (4_000, 1)), Ring(64))
    totals = np.full(len(sums), 4 << 16)
    answers = release(sums, RandResLabels(epsilon=1.0), ExactNoise(), Ring(64), classes=LABELS, totals=totals)
    assert (answers.labels[:, 1:] == [1, -1]).all()
    assert agrees(np.bincount(answers.labels[:, 0], minlength=2), np.array([0.5, 0.5]))
