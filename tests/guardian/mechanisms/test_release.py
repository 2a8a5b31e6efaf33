import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.plan import Confident, GnMax
from common.sharing.fixed_point import encode
from common.sharing.ring import Ring
from guardian.mechanisms import release
from guardian.mechanisms.confident import passes
from tests.guardian.mechanisms.scripted import Scripted

RINGS = pytest.mark.parametrize("ring", [Ring(32), Ring(64)], ids=["32", "64"])
VOTE = 2**16
VOTES = np.array([[30, 15, 5], [10, 20, 20], [0, 0, 50]])


@RINGS
def test_gnmax_adds_noise_to_every_count_and_answers_every_query(ring: Ring) -> None:
    noise = Scripted([[-20, 0, 0], [0, -1, 0], [0, 0, 0]])
    answers = release(encode(VOTES, ring), GnMax(sigma=7), noise, ring)
    assert answers.labels.tolist() == [1, 2, 2]
    assert answers.answered.all()
    assert noise.asked == [(7, (3, 3))]


@RINGS
def test_a_count_below_zero_after_noise_stays_below(ring: Ring) -> None:
    noise = Scripted([[-31, -16, -4]])
    assert release(encode(VOTES[:1], ring), GnMax(sigma=7), noise, ring).labels.tolist() == [2]


@RINGS
@pytest.mark.parametrize("favoured", [1, 2])
def test_ties_go_to_the_largest_key_among_the_leaders_alone(ring: Ring, favoured: int) -> None:
    answers = release(encode(VOTES[1:2], ring), GnMax(sigma=1), Scripted(0, favoured=favoured), ring)
    assert answers.labels.tolist() == [favoured]
    behind = release(encode(VOTES[1:2], ring), GnMax(sigma=1), Scripted(0, favoured=0), ring)
    assert behind.labels.tolist() == [1]


@RINGS
def test_confident_answers_where_the_noisy_largest_reaches_the_threshold(ring: Ring) -> None:
    noise = Scripted([-5, 4, -25], 0)
    mechanism = Confident(sigma1=10, sigma2=5, threshold=25)
    answers = release(encode(VOTES, ring), mechanism, noise, ring)
    assert answers.answered.tolist() == [True, False, True]
    assert answers.labels.tolist() == [0, -1, 2]


def test_confident_draws_both_parts_for_every_query() -> None:
    noise = Scripted(-1000, 0)
    answers = release(encode(VOTES, Ring(64)), Confident(sigma1=10, sigma2=5, threshold=25), noise, Ring(64))
    assert not answers.answered.any()
    assert noise.asked == [(10, (3,)), (5, (3, 3))]


@RINGS
def test_the_threshold_between_two_lattice_steps_is_met_by_the_upper_one(ring: Ring) -> None:
    sums = encode(np.array([[30, 0]]), ring)
    above, below = np.array([[30 * VOTE + 1, 0]]), np.array([[30 * VOTE, 0]])
    threshold = 30 + 0.5 / VOTE
    assert not passes(sums, threshold, 1, Scripted(0), ring)[0]
    assert not passes(ring.wrap(below), threshold, 1, Scripted(0), ring)[0]
    assert passes(ring.wrap(above), threshold, 1, Scripted(0), ring)[0]


@RINGS
@pytest.mark.parametrize(("threshold", "passed"), [(1e308, False), (-1e308, True), (-3.0, True)])
def test_any_finite_threshold_is_met_or_missed_without_overflow(
    ring: Ring, threshold: float, passed: bool
) -> None:
    half = np.array([[2 ** (ring.bits - 1), 0]], dtype=ring.dtype)
    for sums in (encode(VOTES, ring), half):
        assert (passes(sums, threshold, 1, Scripted(0), ring) == passed).all()


@RINGS
@given(data=st.data())
def test_a_random_sum_is_answered_like_any_other(ring: Ring, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(0, 2**ring.bits - 1), min_size=3, max_size=3))
    sums = np.array([values], dtype=ring.dtype)
    answers = release(sums, Confident(sigma1=10, sigma2=5, threshold=25), Scripted(3, 0), ring)
    assert answers.labels.shape == (1,)
    assert answers.labels[0] in ((0, 1, 2) if answers.answered[0] else (-1,))


@RINGS
@given(data=st.data())
def test_one_vote_moves_the_check_by_one_vote_whatever_offset_the_sum_carries(
    ring: Ring, data: st.DataObject
) -> None:
    """So a neighbour with the same noise passes one vote lower and fails one vote higher."""
    offsets = data.draw(st.lists(st.integers(0, 2**ring.bits - 1), min_size=3, max_size=3))
    sums = np.array([offsets], dtype=ring.dtype)
    moved = sums + np.array([[VOTE, -VOTE, 0]]).astype(ring.dtype)
    here, there = (int(ring.distance(s).max()) for s in (sums, moved))
    assert abs(here - there) <= VOTE


@pytest.mark.parametrize("mechanism", [GnMax(sigma=3), Confident(sigma1=3, sigma2=3, threshold=1)])
def test_an_empty_batch(mechanism: GnMax | Confident) -> None:
    answers = release(np.zeros((0, 3), np.uint64), mechanism, Scripted(0, 0), Ring(64))
    assert answers.labels.shape == answers.answered.shape == (0,)
