import numpy as np
import pytest

from ostraka.common.privacy.argmax import FARTHEST, argmax_reach
from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.modulus import Modulus
from ostraka.common.sharing.prime_field import PrimeField
from ostraka.common.sharing.ring import Ring
from ostraka.guardian.mechanisms.argmax import noisy_argmax
from tests.guardian.mechanisms.scripted import Scripted

RINGS = pytest.mark.parametrize(
    "ring", [PrimeField(31), Ring(32), PrimeField(61), Ring(64)], ids=["31", "32", "61", "64"]
)
VOTE = 2**16
VOTES = np.array([[30, 15, 5], [10, 20, 20], [0, 0, 50]])


def winners(votes: list[list[int]], noise: list[list[int]], ring: Modulus, favoured: int = 0) -> list[int]:
    draws = np.array(noise, dtype=np.int64) * VOTE
    chosen = noisy_argmax(encode(np.array(votes), ring), draws, Scripted(favoured=favoured), ring)
    assert chosen.shape == (len(votes), 1)
    return [int(winner) for winner in chosen[:, 0]]


@RINGS
def test_noise_is_added_to_every_count(ring: Modulus) -> None:
    votes = [[30, 15, 5], [10, 20, 20], [0, 0, 50]]
    assert winners(votes, [[-20, 0, 0], [0, -1, 0], [0, 0, 0]], ring) == [1, 2, 2]


@RINGS
def test_a_count_below_zero_after_noise_stays_below(ring: Modulus) -> None:
    assert winners([[30, 15, 5]], [[-31, -16, -4]], ring) == [2]


@RINGS
@pytest.mark.parametrize(("favoured", "winner"), [(0, 1), (1, 1), (2, 2)])
def test_ties_go_to_the_largest_key_among_the_leaders_alone(
    ring: Modulus, favoured: int, winner: int
) -> None:
    assert winners([[10, 20, 20]], [[0, 0, 0]], ring, favoured) == [winner]


@RINGS
@pytest.mark.parametrize("at", [0, 2**29, 2**30, 2**31, 3 * 2**30], ids=hex)
def test_whatever_offset_a_sum_carries_a_step_moves_it_by_one_at_most(ring: Modulus, at: int) -> None:
    """Sums are folded before the noise: a vote never moves a count from one end of the ring to the other."""
    offset = at * 2**ring.bits // 2**32
    sums = ring.wrap(np.array([offset - 1, offset, offset + 1]))
    folded = ring.lift(ring.fold(sums))
    assert (np.abs(np.diff(folded)) <= 1).all()
    others = np.stack([sums, ring.fold(sums[1:2]).repeat(3)], axis=1)
    draws = np.array([[0, -2], [0, -2], [0, -2]])
    assert noisy_argmax(others, draws, Scripted(), ring).tolist() == [[0], [0], [0]]
    assert noisy_argmax(others, -draws, Scripted(), ring).tolist() == [[1], [1], [1]]


@RINGS
def test_no_noise_that_a_plan_allows_wraps_around(ring: Modulus) -> None:
    """Noise as far as the worst case looks keeps its sign beside the largest and the least folded sum."""
    most, room = 2 ** (ring.bits - 2) - 1, 2 ** (ring.bits - 2)
    sums = ring.wrap(np.array([[most, 0], [0, -most - 1]]))
    chosen = noisy_argmax(sums, np.array([[room, 0], [0, -room]]), Scripted(), ring)
    assert chosen.tolist() == [[0], [0]]
    assert argmax_reach(1.0) / 2 == FARTHEST
