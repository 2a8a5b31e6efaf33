from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.mechanism import Check, Interactive
from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.guardian.mechanisms import release
from ostraka.guardian.mechanisms.check import in_steps, passes, passes_per_label
from tests.guardian.mechanisms.scripted import Scripted

RINGS = pytest.mark.parametrize("ring", [Ring(32), Ring(64)], ids=["32", "64"])
VOTE = 2**16
TEN = np.array([10 * VOTE])
VOTES = np.array([[30, 15, 5], [10, 20, 20], [0, 0, 50]])


@RINGS
def test_what_reaches_the_threshold_passes(ring: Ring) -> None:
    passed = passes(encode(VOTES, ring), 25, 10, Scripted([-5, 4, -25]), ring)
    assert passed.tolist() == [True, False, True]


@RINGS
def test_a_threshold_between_two_lattice_steps_is_met_by_the_upper_one(ring: Ring) -> None:
    threshold = 30 + 0.5 / VOTE
    for count, passed in ((30 * VOTE, False), (30 * VOTE + 1, True)):
        sums = ring.wrap(np.array([[count, 0]]))
        assert passes(sums, threshold, 1, Scripted(0), ring).tolist() == [passed]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_threshold_in_steps_is_exact_and_rounded_up(threshold: float) -> None:
    assert 0 <= in_steps(threshold) - Fraction(threshold) * VOTE < 1


@RINGS
@pytest.mark.parametrize(("threshold", "passed"), [(1e308, False), (-1e308, True), (-3.0, True)])
def test_any_finite_threshold_is_met_or_missed_without_overflow(
    ring: Ring, threshold: float, passed: bool
) -> None:
    half = np.array([[2 ** (ring.bits - 1), 0]], dtype=ring.dtype)
    for sums in (encode(VOTES, ring), half):
        assert (passes(sums, threshold, 1, Scripted(0), ring) == passed).all()


@RINGS
def test_a_label_passes_by_the_votes_for_it_or_against_it(ring: Ring) -> None:
    positives = encode(np.array([[8, 7, 5, 3, 2]]), ring)
    passed = passes_per_label(positives, TEN, Check(sigma=1.0, threshold=8.0), Scripted(0), ring)
    assert passed.tolist() == [[True, False, False, False, True]]


@RINGS
def test_each_label_is_checked_with_noise_of_its_own(ring: Ring) -> None:
    positives = encode(np.array([[8, 8], [8, 2]]), ring)
    noise = Scripted([[-1, 0], [0, -1]])
    passed = passes_per_label(positives, TEN, Check(sigma=3.0, threshold=8.0), noise, ring)
    assert passed.tolist() == [[False, True], [True, False]]
    assert noise.asked == [(3, (2, 2))]


def interactive(votes: list[int], scores: list[float], threshold: float, noise: float, ring: Ring) -> bool:
    answers = release(
        encode(np.array([votes]), ring),
        Interactive(sigma1=1.0, sigma2=1.0, threshold=threshold, confidence=0.9),
        Scripted(noise, 0),
        ring,
        classes=len(votes),
        totals=np.array([sum(votes) * VOTE]),
        scores=np.array([[int(score * VOTE) for score in scores]]),
    )
    return bool(answers.answered[0, 0])


@RINGS
@pytest.mark.parametrize(
    ("votes", "scores", "difference"),
    [([10, 0], [0, 1], 10), ([10, 0], [1, 0], 0), ([6, 4], [0.5, 0.5], 1), ([2, 8], [0.75, 0.25], 5.5)],
)
def test_interactive_passes_where_the_votes_differ_enough_from_the_scores(
    ring: Ring, votes: list[int], scores: list[float], difference: float
) -> None:
    noise = 20 - difference
    assert interactive(votes, scores, 20.0, noise, ring)
    assert not interactive(votes, scores, 20 + 1 / VOTE, noise, ring)


def shifted(ring: Ring, data: st.DataObject) -> tuple[RingArray, RingArray]:
    """Return a sum with any offset on every count, before and after one vote moves."""
    offsets = data.draw(st.lists(st.integers(0, 2**ring.bits - 1), min_size=3, max_size=3))
    sums = np.array([offsets], dtype=ring.dtype)
    return sums, sums + np.array([[VOTE, -VOTE, 0]]).astype(ring.dtype)


@RINGS
@given(data=st.data())
def test_one_vote_moves_a_check_by_one_vote_whatever_offset_the_sum_carries(
    ring: Ring, data: st.DataObject
) -> None:
    """So with the same noise a neighbour passes one vote lower and fails one vote higher."""
    here, there = shifted(ring, data)
    threshold = float(data.draw(st.integers(-5, 40)))
    if passes(here, threshold, 1, Scripted(0), ring)[0]:
        assert passes(there, threshold, 1, Scripted(1), ring)[0]
    else:
        assert not passes(there, threshold, 1, Scripted(-1), ring)[0]


@RINGS
@given(data=st.data())
def test_one_vote_moves_a_label_check_by_one_vote_whatever_offset_the_sum_carries(
    ring: Ring, data: st.DataObject
) -> None:
    here, there = shifted(ring, data)
    check = Check(sigma=1.0, threshold=float(data.draw(st.integers(1, 40))))
    before = passes_per_label(here, TEN, check, Scripted(0), ring)
    gained, lost = (passes_per_label(there, TEN, check, Scripted(votes), ring) for votes in (1, -1))
    assert (gained | ~before).all()
    assert not (lost & ~before).any()
