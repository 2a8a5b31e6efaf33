import numpy as np
import pytest

from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.ring import Ring
from ostraka.guardian.mechanisms.argmax import noisy_argmax
from tests.guardian.mechanisms.scripted import Scripted

RINGS = pytest.mark.parametrize("ring", [Ring(32), Ring(64)], ids=["32", "64"])
VOTE = 2**16
VOTES = np.array([[30, 15, 5], [10, 20, 20], [0, 0, 50]])


def winners(votes: list[list[int]], noise: list[list[int]], ring: Ring, favoured: int = 0) -> list[int]:
    draws = np.array(noise, dtype=np.int64) * VOTE
    chosen = noisy_argmax(encode(np.array(votes), ring), draws, Scripted(favoured=favoured), ring)
    assert chosen.shape == (len(votes), 1)
    return [int(winner) for winner in chosen[:, 0]]


@RINGS
def test_noise_is_added_to_every_count(ring: Ring) -> None:
    votes = [[30, 15, 5], [10, 20, 20], [0, 0, 50]]
    assert winners(votes, [[-20, 0, 0], [0, -1, 0], [0, 0, 0]], ring) == [1, 2, 2]


@RINGS
def test_a_count_below_zero_after_noise_stays_below(ring: Ring) -> None:
    assert winners([[30, 15, 5]], [[-31, -16, -4]], ring) == [2]


@RINGS
@pytest.mark.parametrize(("favoured", "winner"), [(0, 1), (1, 1), (2, 2)])
def test_ties_go_to_the_largest_key_among_the_leaders_alone(ring: Ring, favoured: int, winner: int) -> None:
    assert winners([[10, 20, 20]], [[0, 0, 0]], ring, favoured) == [winner]


@RINGS
def test_a_count_at_half_the_ring_wins_or_loses_by_its_noise(ring: Ring) -> None:
    """Noise goes in before lifting: one step more is far below zero, one step less far above."""
    sums = np.array([[2 ** (ring.bits - 1), 0]] * 2, dtype=ring.dtype)
    chosen = noisy_argmax(sums, np.array([[0, 0], [-1, 0]]), Scripted(), ring)
    assert chosen.tolist() == [[1], [0]]
