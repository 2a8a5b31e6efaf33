import numpy as np
import pytest

from ostraka.common.mechanism import Binary, Check
from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.guardian.mechanisms import Answers, release
from tests.guardian.mechanisms.scripted import Scripted

RINGS = pytest.mark.parametrize("ring", [Ring(32), Ring(64)], ids=["32", "64"])
TEACHERS = 10


def released(sums: RingArray, noise: Scripted, ring: Ring, check: Check | None = None) -> Answers:
    mechanism = Binary(sigma=1.0, check=check)
    totals = np.full(len(sums), TEACHERS << 16)
    return release(sums, mechanism, noise, ring, classes=sums.shape[1], totals=totals)


@RINGS
def test_votes_for_and_against_a_label_each_get_their_noise(ring: Ring) -> None:
    """Six for and four against, and the noise that turns it."""
    sums = encode(np.array([[6, 6, 6, 6]]), ring)
    noise = Scripted([[[-3, 0, -1, 2]], [[0, 3, 0, 5]]])
    assert released(sums, noise, ring).labels.tolist() == [[0, 0, 1, 0]]


@RINGS
@pytest.mark.parametrize("favoured", [0, 1])
def test_an_even_split_is_decided_by_a_coin(ring: Ring, favoured: int) -> None:
    sums = encode(np.array([[5, 5, 7, 3]]), ring)
    labels = released(sums, Scripted(0, favoured=favoured), ring).labels[0].tolist()
    assert labels == [int(favoured == 0), int(favoured == 1), 1, 0]


@RINGS
def test_at_half_the_ring_one_step_of_noise_decides(ring: Ring) -> None:
    """Twice this sum less the teachers is half the ring, where the difference turns from yes to no."""
    half = (2 ** (ring.bits - 1) + (TEACHERS << 16)) // 2
    sums = np.array([[half, half]], dtype=ring.dtype)
    step = 2.0**-16
    assert released(sums, Scripted([[[0.0, -step]], [[0.0, 0.0]]]), ring).labels.tolist() == [[0, 1]]


@RINGS
def test_an_offset_of_half_the_ring_on_the_votes_changes_nothing(ring: Ring) -> None:
    sums = encode(np.array([[6, 4, 5]]), ring)
    offset = sums + ring.dtype.type(2 ** (ring.bits - 1))
    assert (
        released(offset, Scripted(0), ring).labels.tolist()
        == released(sums, Scripted(0), ring).labels.tolist()
    )


@RINGS
@pytest.mark.parametrize("check", [None, Check(sigma=1.0, threshold=3.0)])
def test_each_label_is_held_against_votes_of_its_own_number(ring: Ring, check: Check | None) -> None:
    """Three of ten, three of five, three of six with a coin, and a label on which nobody votes."""
    totals = np.array([[10, 5, 6, 0]]) << 16
    noise = Scripted(*([[0, 0, 0, 9]] if check else []), [[[0, 0, 0, 9]], [[0, 0, 0, 0]]], favoured=2)
    answers = release(
        encode(np.array([[3, 3, 3, 0]]), ring),
        Binary(sigma=1.0, check=check),
        noise,
        ring,
        classes=4,
        totals=totals,
    )
    assert answers.labels.tolist() == [[0, 1, 1, -1]]
    assert answers.answered.tolist() == [[True, True, True, False]]


@RINGS
def test_labels_that_fail_their_check_are_not_answered(ring: Ring) -> None:
    sums = encode(np.array([[9, 6, 1]]), ring)
    answers = released(sums, Scripted(0, 0), ring, Check(sigma=1.0, threshold=8.0))
    assert answers.answered.tolist() == [[True, False, True]]
    assert answers.labels.tolist() == [[1, -1, 0]]
