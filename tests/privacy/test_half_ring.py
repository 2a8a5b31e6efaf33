"""A querying party whose sum carries an offset: the noise must still decide, for argmax and check.

The offset puts one count right at the cliff of the ring or of the circular distance; then one vote is moved.
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from common.plan import Confident, GnMax
from common.privacy import ORDERS, epsilon, worst_case
from common.sharing.fixed_point import FRACTION_BITS
from common.sharing.ring import Ring, RingArray
from guardian.mechanisms.confident import passes
from guardian.mechanisms.gnmax import noisy_argmax
from guardian.noise import OpenDpNoise
from tests.privacy import probabilities
from tests.privacy.sampling import agrees, least_epsilon, tally

DRAWS = 6_000
DELTA = 1e-5
VOTE = 2**FRACTION_BITS
SIGMA = 2.0
HERE, MOVED = [7, 2, 1], [6, 3, 1]
RINGS = pytest.mark.parametrize("ring", [Ring(32), Ring(64)], ids=["32", "64"])


def offset_sums(votes: list[int], offset: int, ring: Ring) -> RingArray:
    """Sums of shares that a querying party shifted by `offset` on the first class."""
    sums = tally(np.array(votes), DRAWS, ring)
    sums[:, 0] += ring.dtype.type(offset % 2**ring.bits)
    return sums


def argmax_counts(votes: list[int], offset: int, ring: Ring) -> NDArray[np.int64]:
    labels = noisy_argmax(offset_sums(votes, offset, ring), SIGMA, OpenDpNoise(), ring)
    return np.bincount(labels, minlength=3)


def at_the_cliff(votes: list[int]) -> NDArray[np.float64]:
    """Class 0 lies at half the ring plus its votes above HERE's: it wins where the noise pulls it back."""
    wins = stats.norm.cdf((HERE[0] - votes[0]) / SIGMA)
    return np.append(wins, (1 - wins) * probabilities.argmax(np.array(votes[1:]), SIGMA))


@RINGS
def test_argmax_at_half_the_ring_is_decided_by_the_noise(ring: Ring) -> None:
    offset = 2 ** (ring.bits - 1) - HERE[0] * VOTE
    one, other = (argmax_counts(votes, offset, ring) for votes in (HERE, MOVED))
    assert agrees(one, at_the_cliff(HERE))
    assert agrees(other, at_the_cliff(MOVED))
    _obeys_the_worst_case(at_the_cliff(HERE), at_the_cliff(MOVED), lambda a: a / SIGMA**2)
    worst = epsilon([worst_case(GnMax(sigma=SIGMA), order).total for order in ORDERS], ORDERS, DELTA)
    assert least_epsilon(one, other, DELTA) <= worst


@RINGS
def test_lifting_before_the_noise_would_be_found(ring: Ring) -> None:
    def lifted_first(votes: list[int]) -> NDArray[np.int64]:
        offset = 2 ** (ring.bits - 1) - HERE[0] * VOTE
        lifted = ring.lift(offset_sums(votes, offset, ring)).astype(np.float64)
        return np.bincount((lifted + OpenDpNoise().gaussian(SIGMA, lifted.shape)).argmax(axis=1), minlength=3)

    worst = epsilon([worst_case(GnMax(sigma=SIGMA), order).total for order in ORDERS], ORDERS, DELTA)
    assert least_epsilon(lifted_first(HERE), lifted_first(MOVED), DELTA) > worst


def check_counts(votes: list[int], offset: int, threshold: float, ring: Ring) -> NDArray[np.int64]:
    passed = passes(offset_sums(votes, offset, ring), threshold, SIGMA, OpenDpNoise(), ring)
    return np.bincount(passed, minlength=2)


def check(distance: float, threshold: float) -> NDArray[np.float64]:
    passed = stats.norm.sf((threshold - distance) / SIGMA)
    return np.array([1 - passed, passed])


@RINGS
@pytest.mark.parametrize(
    ("offset_votes", "distances"),
    [(-7, (2, 3)), (-10, (3, 4)), (-4, (3, 3)), (-13, (6, 7))],
    ids=["at zero", "below zero", "other class leads", "far below zero"],
)
def test_a_check_sees_the_circular_distance_and_the_noise_decides(
    ring: Ring, offset_votes: int, distances: tuple[float, float]
) -> None:
    one, other = (check_counts(votes, offset_votes * VOTE, 3.0, ring) for votes in (HERE, MOVED))
    expected = [check(distance, 3.0) for distance in distances]
    assert agrees(one, expected[0])
    assert agrees(other, expected[1])
    _obeys_the_worst_case(expected[0], expected[1], lambda a: a / (2 * SIGMA**2))
    mechanism = Confident(sigma1=SIGMA, sigma2=SIGMA, threshold=3.0)
    worst = epsilon([worst_case(mechanism, order).check for order in ORDERS], ORDERS, DELTA)
    assert least_epsilon(one, other, DELTA) <= worst


@RINGS
def test_a_check_at_half_the_ring_says_the_same_of_both_neighbours(ring: Ring) -> None:
    offset = 2 ** (ring.bits - 1) - HERE[0] * VOTE
    for votes in (HERE, MOVED):
        assert check_counts(votes, offset, 3.0, ring).tolist() == [0, DRAWS]


@RINGS
def test_a_check_of_lifted_counts_would_be_found(ring: Ring) -> None:
    def lifted(votes: list[int]) -> NDArray[np.int64]:
        offset = 2 ** (ring.bits - 1) - HERE[0] * VOTE
        largest = ring.lift(offset_sums(votes, offset, ring)).max(axis=1).astype(np.float64)
        noisy = largest + OpenDpNoise().gaussian(SIGMA, largest.shape)
        return np.bincount(noisy >= 30 * VOTE, minlength=2)

    mechanism = Confident(sigma1=SIGMA, sigma2=SIGMA, threshold=30)
    worst = epsilon([worst_case(mechanism, order).check for order in ORDERS], ORDERS, DELTA)
    assert least_epsilon(lifted(HERE), lifted(MOVED), DELTA) > worst


def _obeys_the_worst_case(
    p: NDArray[np.float64], r: NDArray[np.float64], worst: Callable[[float], float]
) -> None:
    for order in ORDERS[:80]:
        both = probabilities.divergence(p, r, order), probabilities.divergence(r, p, order)
        assert max(both) <= worst(order) * (1 + 1e-6)
