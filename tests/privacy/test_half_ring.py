"""A querying party whose sum carries an offset: the noise must still decide, for answers and checks.

The offset puts one count right at the cliff of the ring, or where sums or distances fold back; then one vote
is moved.
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from ostraka.common.mechanism import Binary, Check, Confident, GnMax, Mechanism, Powerset
from ostraka.common.privacy import ORDERS, WorstCase, epsilon
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.label_sets import index_of
from ostraka.common.sharing.modulus import Modulus
from ostraka.common.sharing.prime_field import PrimeField
from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.guardian.mechanisms import release
from ostraka.guardian.mechanisms.check import passes, passes_per_label
from ostraka.guardian.noise import ExactNoise
from tests.privacy import probabilities
from tests.privacy.evidence import Counts, Floats, agrees, least_epsilon

DRAWS = 4_000
DELTA = 1e-5
VOTE = 2**FRACTION_BITS
SIGMA = 2.0
HERE, MOVED = [7, 2, 1, 0], [6, 3, 1, 0]
TEACHERS = sum(HERE)
MODULI = pytest.mark.parametrize(
    "ring", [PrimeField(31), Ring(32), PrimeField(61), Ring(64)], ids=["31", "32", "61", "64"]
)
ARGMAX = pytest.mark.parametrize("mechanism", [GnMax(sigma=SIGMA), Powerset(sigma=SIGMA)], ids=str)


def offset_sums(votes: list[int], offset: int, ring: Modulus) -> RingArray:
    """Return sums of shares that a querying party shifted by `offset` on the first count."""
    sums = encode(np.tile(votes, (DRAWS, 1)), ring)
    sums[:, 0] = ring.add(sums[:, 0], ring.wrap(np.full(DRAWS, offset % 2**ring.bits, dtype=np.uint64)))
    return sums


def labels(sums: RingArray, mechanism: Mechanism, ring: Modulus) -> NDArray[np.int64]:
    """Answers (Q, m) for as many classes as there are counts, or half as many labels for their sets."""
    classes = 2 if isinstance(mechanism, Powerset) else sums.shape[1]
    noise = ExactNoise()
    return release(
        sums,
        mechanism,
        noise,
        ring,
        classes=classes,
        totals=np.full(len(sums), TEACHERS * VOTE),
    ).labels


def at_half(ring: Modulus) -> int:
    """Return the offset that takes the first count of HERE to half the ring."""
    return int(2 ** (ring.bits - 1) - HERE[0] * VOTE)


def winners(votes: list[int], mechanism: Mechanism, ring: Modulus) -> Counts:
    chosen = labels(offset_sums(votes, at_half(ring), ring), mechanism, ring)
    places = index_of(chosen.astype(np.bool_)) if mechanism.multi_label else chosen[:, 0]
    return np.bincount(places, minlength=len(votes))


def folded(votes: list[int]) -> Floats:
    """Count 0 lies below half the ring by the votes that it has lost since HERE, which fold to as many."""
    return probabilities.argmax(np.array([HERE[0] - votes[0], *votes[1:]]), probabilities.gaussian(SIGMA))


def at_the_cliff(votes: list[int]) -> Floats:
    """Without the fold, count 0 would win where the noise pulls it back below half the ring."""
    wins = stats.norm.cdf((HERE[0] - votes[0]) / SIGMA)
    others = probabilities.argmax(np.array(votes[1:]), probabilities.gaussian(SIGMA))
    return np.append(wins, (1 - wins) * others)


def promised(mechanism: Mechanism, part: Callable[[WorstCase], float]) -> float:
    costs = [part(mechanism.worst_case(order, classes=1)) for order in ORDERS]
    return epsilon(costs, ORDERS, DELTA)


def answer(cost: WorstCase) -> float:
    return cost.answer


def check(cost: WorstCase) -> float:
    return cost.check


def obeys(
    mechanism: Mechanism,
    part: Callable[[WorstCase], float],
    sampled: tuple[Counts, Counts],
    expected: tuple[Floats, Floats],
) -> None:
    """Check that two neighbours' samples match what is expected, and that neither costs too much."""
    assert agrees(sampled[0], expected[0])
    assert agrees(sampled[1], expected[1])
    assert least_epsilon(sampled, expected, DELTA) <= promised(mechanism, part)
    for order in ORDERS[:80]:
        both = (probabilities.divergence(*expected, order), probabilities.divergence(*expected[::-1], order))
        assert max(both) <= part(mechanism.worst_case(order, classes=1)) * (1 + 1e-6)


@pytest.mark.heavy
@MODULI
@ARGMAX
def test_an_argmax_at_half_the_ring_is_decided_by_the_noise(mechanism: Mechanism, ring: Modulus) -> None:
    sampled = winners(HERE, mechanism, ring), winners(MOVED, mechanism, ring)
    obeys(mechanism, answer, sampled, (folded(HERE), folded(MOVED)))


@pytest.mark.heavy
@MODULI
def test_lifting_before_the_noise_would_be_found(ring: Modulus) -> None:
    def lifted_first(votes: list[int]) -> Counts:
        lifted = ring.lift(offset_sums(votes, at_half(ring), ring)).astype(np.float64)
        noisy = lifted + ExactNoise().gaussian(SIGMA, lifted.shape)
        return np.bincount(noisy.argmax(axis=1), minlength=len(votes))

    sampled = lifted_first(HERE), lifted_first(MOVED)
    expected = at_the_cliff(HERE), at_the_cliff(MOVED)
    assert least_epsilon(sampled, expected, DELTA) > promised(GnMax(sigma=SIGMA), answer)


def difference_at_half(ring: Modulus) -> int:
    """Return the offset that takes votes for minus votes against, 2 * 7 - 10 in HERE, to half the ring."""
    return int(2 ** (ring.bits - 1) - (2 * HERE[0] - TEACHERS) * VOTE) // 2


def yes(votes: list[int]) -> Floats:
    """No and yes; every vote above HERE's takes the difference two beyond half the ring, to no."""
    chance = stats.norm.cdf(2 * (HERE[0] - votes[0]) / (np.sqrt(2) * SIGMA))
    return np.array([1 - chance, chance])


@pytest.mark.heavy
@MODULI
def test_a_label_whose_difference_is_half_the_ring_is_decided_by_the_noise(ring: Modulus) -> None:
    def bits(votes: list[int]) -> Counts:
        sums = offset_sums(votes, difference_at_half(ring), ring)[:, :1]
        return np.bincount(labels(sums, Binary(sigma=SIGMA), ring)[:, 0], minlength=2)

    obeys(Binary(sigma=SIGMA), answer, (bits(HERE), bits(MOVED)), (yes(HERE), yes(MOVED)))


@pytest.mark.heavy
@MODULI
def test_lifting_both_sides_of_a_label_before_their_noise_would_be_found(ring: Modulus) -> None:
    def lifted_first(votes: list[int]) -> Counts:
        sums = offset_sums(votes, at_half(ring), ring)[:, 0]
        negatives = ring.subtract(ring.wrap(np.full_like(sums, TEACHERS * VOTE)), sums)
        noise = ExactNoise().gaussian(SIGMA, (2, DRAWS)).astype(np.float64)
        return np.bincount(ring.lift(sums) + noise[0] > ring.lift(negatives) + noise[1], minlength=2)

    sampled = lifted_first(HERE), lifted_first(MOVED)
    assert least_epsilon(sampled, (yes(HERE), yes(MOVED)), DELTA) > promised(Binary(sigma=SIGMA), answer)


CONFIDENT = Confident(sigma1=SIGMA, sigma2=SIGMA, threshold=3.0)


def check_counts(votes: list[int], offset: int, ring: Modulus) -> Counts:
    passed = passes(offset_sums(votes, offset, ring), 3.0, SIGMA, ExactNoise(), ring)
    return np.bincount(passed, minlength=2)


def passing(distance: float) -> Floats:
    passed = stats.norm.sf((3.0 - distance) / SIGMA)
    return np.array([1 - passed, passed])


@MODULI
@pytest.mark.parametrize(
    ("offset_votes", "distances"),
    [(-7, (2, 3)), (-10, (3, 4)), (-4, (3, 3)), (-13, (6, 7))],
    ids=["at zero", "below zero", "other class leads", "far below zero"],
)
def test_a_check_sees_the_circular_distance_and_the_noise_decides(
    ring: Modulus, offset_votes: int, distances: tuple[float, float]
) -> None:
    sampled = (
        check_counts(HERE, offset_votes * VOTE, ring),
        check_counts(MOVED, offset_votes * VOTE, ring),
    )
    obeys(CONFIDENT, check, sampled, (passing(distances[0]), passing(distances[1])))


@MODULI
@pytest.mark.parametrize(
    ("offset_votes", "distances"),
    [(-7, (10, 11)), (-17, (20, 21)), (3, (10, 9)), (-2, (5, 6))],
    ids=["at zero", "below zero", "all for it", "even"],
)
def test_a_label_check_sees_the_circular_distances_and_the_noise_decides(
    ring: Modulus, offset_votes: int, distances: tuple[float, float]
) -> None:
    """max(|V|, |10 - V|) with V shifted; the threshold is near the distance."""
    threshold = distances[0] + 1.0
    rule = Check(sigma=SIGMA, threshold=threshold)

    def passed(votes: list[int]) -> Counts:
        sums = offset_sums(votes, offset_votes * VOTE, ring)[:, :1]
        passed = passes_per_label(sums, np.full(sums.shape, TEACHERS * VOTE), rule, ExactNoise(), ring)
        return np.bincount(passed[:, 0], minlength=2)

    expected = passing(distances[0] - threshold + 3), passing(distances[1] - threshold + 3)
    obeys(Binary(sigma=SIGMA, check=rule), check, (passed(HERE), passed(MOVED)), expected)


@MODULI
def test_a_check_at_half_the_ring_says_the_same_of_both_neighbours(ring: Modulus) -> None:
    for votes in (HERE, MOVED):
        assert check_counts(votes, at_half(ring), ring).tolist() == [0, DRAWS]


@MODULI
def test_a_check_of_lifted_counts_would_be_found(ring: Modulus) -> None:
    def lifted(votes: list[int]) -> Counts:
        largest = ring.lift(offset_sums(votes, at_half(ring), ring)).max(axis=1).astype(np.float64)
        noisy = largest + ExactNoise().gaussian(SIGMA, largest.shape)
        return np.bincount(noisy >= 30 * VOTE, minlength=2)

    sampled = lifted(HERE), lifted(MOVED)
    assert least_epsilon(sampled, (passing(0), passing(1)), DELTA) > promised(CONFIDENT, check)
