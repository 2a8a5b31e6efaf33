import math
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from ostraka.common.mechanism import L1, Binary, GnMax, Mechanism, NoiseCluster, Powerset, RandRes, Tau
from ostraka.common.mechanism.rand_res_labels import RandResLabels
from ostraka.common.sharing.ballots import (
    VOTE,
    LabelCounts,
    clip_l1,
    clip_l2,
    label_sets,
    positives,
)
from ostraka.common.sharing.fixed_point import decode, encode
from ostraka.common.sharing.label_sets import bits_of, count_sets
from ostraka.common.sharing.ring import Ring

SCORES = arrays.arrays(
    np.float32,
    st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(2, 5)),
    elements=st.floats(0, 1, width=32),
)


def scores(*rows: tuple[float, ...]) -> NDArray[np.float32]:
    """One query, a teacher each row."""
    return np.array(rows, dtype=np.float32)[:, None]


def test_half_is_a_yes() -> None:
    assert positives(scores((0.5, 0.49, 1.0), (0.9, 0.0, 0.5))).tolist() == [[2, 0, 2]]


def test_a_ballot_is_scaled_to_its_norm_and_rounded_toward_zero() -> None:
    sums = clip_l2(scores((1, 1, 1), (1, 0, 0), (0, 0, 0)), 1.5)
    share = math.floor(1.5 / math.sqrt(3) * 2**16) / 2**16
    assert sums.tolist() == [[1 + share, share, share]]
    assert clip_l1(scores((1, 1, 1), (1, 1, 0)), 2.0).tolist() == [
        [1 + math.floor(2 / 3 * 2**16) / 2**16, 1 + math.floor(2 / 3 * 2**16) / 2**16, 43690 / 2**16]
    ]


@pytest.mark.heavy
@given(SCORES, st.floats(0.1, 3))
def test_no_clipped_ballot_exceeds_its_norm_and_the_ring_holds_it_exactly(
    votes: NDArray[np.float32], radius: float
) -> None:
    for teacher in votes:
        l2, l1 = clip_l2(teacher[None], radius), clip_l1(teacher[None], radius)
        assert (np.linalg.norm(l2, axis=1) <= radius).all()
        assert (l1.sum(axis=1) <= radius).all()
        assert (l2 <= 1).all()
    ring = Ring(64)
    total = clip_l2(votes, radius)
    np.testing.assert_array_equal(decode(encode(total, ring), ring), total)


@settings(max_examples=30)
@given(votes=SCORES, radius=st.floats(0.3, 2.5), norm=st.sampled_from([1, 2]))
def test_verifiable_ballots_are_what_is_claimed_of_them(
    votes: NDArray[np.float32], radius: float, norm: Literal[1, 2]
) -> None:
    teachers, queries, labels = votes.shape
    ballot = LabelCounts(radius, norm).verifiable
    statement = ballot.claim(queries, labels, teachers)
    assert statement is not None
    counts = ballot.count(votes, labels) * (VOTE / ballot.unit)
    assert (counts == np.rint(counts)).all()
    assert counts.max() <= statement.most
    assert statement.norm is not None
    assert statement.norm.of(counts.astype(np.int64)).max() <= statement.norm.most


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("labels", [2, 3, 5, 7, 11])
def test_a_radius_that_clips_nothing_leaves_room_for_all_labels(norm: Literal[1, 2], labels: int) -> None:
    """Square roots in floating point may be less than the norm of whole votes."""
    ballot = LabelCounts(labels ** (1 / norm), norm).verifiable
    counts = ballot.count(np.ones((3, 1, labels), np.float32), labels) * (VOTE / ballot.unit)
    statement = ballot.claim(1, labels, 3)
    assert statement is not None
    assert statement.norm is not None
    assert statement.norm.of(counts.astype(np.int64)).tolist() == [statement.norm.most]


def test_unclipped_ballots_are_verified_as_they_are_and_those_of_nothing_are_not() -> None:
    assert LabelCounts().verifiable == LabelCounts()
    assert LabelCounts().unit == VOTE
    assert LabelCounts(0.02, norm=2).claim(1, 4, 10) is None
    assert LabelCounts(0.02, norm=2).claim(1, 1, 10) is not None


@pytest.mark.heavy
@given(SCORES)
def test_every_teacher_votes_for_one_label_set(votes: NDArray[np.float32]) -> None:
    teachers, queries, labels = votes.shape
    counts = label_sets(votes, None)
    assert counts.shape == (queries, 2**labels)
    assert counts.sum(axis=1).tolist() == [teachers] * queries
    members = bits_of(np.arange(2**labels), labels)
    np.testing.assert_array_equal(counts @ members, positives(votes))


@given(SCORES, st.integers(1, 3))
def test_of_too_many_positives_the_highest_scores_are_kept(votes: NDArray[np.float32], most: int) -> None:
    labels = votes.shape[2]
    most = min(most, labels)
    for teacher in votes:
        (row,) = np.nonzero(label_sets(teacher[None, :1], most)[0])[0].tolist()
        chosen = bits_of(np.array(row), labels)
        said = teacher[0] >= 0.5
        assert chosen.sum() == min(most, said.sum())
        assert not (chosen & ~said).any()
        left_out = said & ~chosen
        if left_out.any():
            assert teacher[0][chosen].min() >= teacher[0][left_out].max()


def test_equal_scores_keep_the_lower_label() -> None:
    counts = label_sets(scores((0.8, 0.9, 0.8, 0.8)), 2)
    assert bits_of(counts.argmax(axis=1), 4).tolist() == [[True, True, False, False]]


@pytest.mark.parametrize(
    "mechanism",
    [
        Binary(sigma=1),
        Tau(sigma=1, tau=1),
        L1(sigma=1, tau1=1),
        Powerset(sigma=1),
        Powerset(sigma=1, max_positives=2),
    ],
)
def test_ballots_are_as_wide_as_the_mechanism_says(mechanism: Mechanism) -> None:
    assert mechanism.ballot.count(scores((1, 0, 1), (0, 1, 1)), 3).shape == (1, mechanism.width(3))


WEIGHED = [
    Binary(sigma=1),
    Tau(sigma=1, tau=1.3),
    L1(sigma=1, tau1=1.3),
    Powerset(sigma=1),
    Powerset(sigma=1, max_positives=1),
]


@pytest.mark.heavy
@pytest.mark.parametrize("mechanism", WEIGHED)
@given(votes=SCORES, weight=st.integers(1, 2**20))
def test_no_weighted_ballot_exceeds_its_weight_and_the_ring_holds_it_exactly(
    mechanism: Mechanism, votes: NDArray[np.float32], weight: int
) -> None:
    labels = votes.shape[2]
    steps = np.zeros((votes.shape[1], mechanism.width(labels)))
    for teacher in votes:
        whole, weighed = (mechanism.ballot.count(teacher[None], labels, each) for each in (VOTE, weight))
        over = whole * weight / VOTE - weighed
        assert ((over >= 0) & (over < 1 / VOTE)).all()
        steps += weighed
    total = mechanism.ballot.count(votes, labels, weight)
    np.testing.assert_array_equal(total, steps)
    np.testing.assert_array_equal(total * VOTE, np.trunc(total * VOTE))
    ring = Ring(64)
    np.testing.assert_array_equal(decode(encode(total, ring), ring), total)


def test_a_weight_multiplies_votes_for_a_class() -> None:
    votes = np.array([[0], [2], [2]])
    assert GnMax(sigma=1).ballot.count(votes, 3, 24_248).tolist() == [[24_248 / VOTE, 0, 48_496 / VOTE]]


def test_single_labels_are_counted_and_clusters_are_none_of_a_teachers_business() -> None:
    assert GnMax(sigma=1).ballot.count(np.array([[0], [2], [2]]), 3).tolist() == [[1, 0, 2]]
    with pytest.raises(ValueError, match="count no votes"):
        NoiseCluster(sigma=1).ballot.count(np.array([[0]]), 3)
    assert count_sets(3) == 8


class Asked:
    """Records that say what they were asked."""

    def counts(self) -> NDArray[np.float64]:
        return np.array([[0.0]])

    def responses(self, epsilon: float) -> NDArray[np.float64]:
        return np.array([[epsilon]])

    def label_responses(self, epsilon: float) -> NDArray[np.float64]:
        return np.array([[0.0, epsilon]])


@pytest.mark.parametrize(
    ("mechanism", "ballot"),
    [(NoiseCluster(sigma=1), [[0]]), (RandRes(epsilon=2), [[2]]), (RandResLabels(epsilon=3), [[0, 3]])],
)
def test_the_format_says_what_records_are_asked(mechanism: Mechanism, ballot: list[list[int]]) -> None:
    assert mechanism.ballot.of_records
    assert mechanism.ballot.count_records(Asked()).tolist() == ballot


@pytest.mark.parametrize("mechanism", [GnMax(sigma=1), Binary(sigma=1), Powerset(sigma=1, max_positives=1)])
def test_no_record_is_asked_where_teachers_vote(mechanism: Mechanism) -> None:
    assert not mechanism.ballot.of_records
    with pytest.raises(ValueError, match="count no records"):
        mechanism.ballot.count_records(Asked())
