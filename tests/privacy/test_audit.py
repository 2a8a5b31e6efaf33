"""The release path, sampled on neighbouring histograms, against what is promised and what is exact.

The worst case alone is too loose to see small faults (0.8 of the noise still meets it), so the sampled
outcomes are also compared with their exact probabilities. Every fault planted here must be found.
"""

import numpy as np
import pytest
from numpy.typing import NDArray

from common.plan import Confident, GnMax, Mechanism
from common.privacy import ORDERS, epsilon, worst_case
from common.sharing.ring import Ring
from guardian.noise import NoiseSource, OpenDpNoise
from tests.privacy import probabilities
from tests.privacy.sampling import agrees, least_epsilon, outcomes, tally

DRAWS = 8_000
DELTA = 1e-5
RINGS = pytest.mark.parametrize("ring", [Ring(32), Ring(64)], ids=["32", "64"])
CASES = pytest.mark.parametrize(
    ("mechanism", "votes"),
    [
        (GnMax(sigma=2), [5, 4, 1]),
        (GnMax(sigma=1.5), [10, 10]),
        (GnMax(sigma=20), [50, 30, 20, 0]),
        (Confident(sigma1=3, sigma2=2, threshold=6), [5, 4, 1]),
        (Confident(sigma1=10, sigma2=5, threshold=25), [30, 15, 5]),
    ],
)


class Narrow:
    """A planted fault: noise scaled by 0.8."""

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return OpenDpNoise().gaussian(0.8 * sigma, shape)

    def uniform(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        return OpenDpNoise().uniform(shape)


class Shared(Narrow):
    """A planted fault: the same draw on every coordinate (003, Definition 9 as written)."""

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return np.broadcast_to(OpenDpNoise().gaussian(sigma, (shape[0],) + (1,) * (len(shape) - 1)), shape)


def sample(mechanism: Mechanism, votes: list[int], noise: NoiseSource, ring: Ring) -> NDArray[np.int64]:
    return outcomes(tally(np.array(votes), DRAWS, ring), mechanism, noise, ring)


def neighbour(votes: list[int]) -> list[int]:
    return [votes[0] - 1, votes[1] + 1, *votes[2:]]


def promised(mechanism: Mechanism) -> float:
    return epsilon([worst_case(mechanism, order).total for order in ORDERS], ORDERS, DELTA)


@RINGS
@CASES
def test_outcomes_are_as_probable_as_calculated_and_within_the_promise(
    mechanism: Mechanism, votes: list[int], ring: Ring
) -> None:
    both = [votes, neighbour(votes)]
    sampled = [sample(mechanism, v, OpenDpNoise(), ring) for v in both]
    for counts, v in zip(sampled, both, strict=True):
        assert agrees(counts, probabilities.outcomes(np.array(v), mechanism))
    assert least_epsilon(sampled[0], sampled[1], DELTA) <= promised(mechanism)


@CASES
def test_the_calculated_probabilities_obey_the_worst_case(mechanism: Mechanism, votes: list[int]) -> None:
    p, r = (probabilities.outcomes(np.array(v), mechanism) for v in (votes, neighbour(votes)))
    for order in ORDERS[:80]:
        allowed = worst_case(mechanism, order).total * (1 + 1e-6)
        assert max(probabilities.divergence(p, r, order), probabilities.divergence(r, p, order)) <= allowed


@pytest.mark.parametrize(
    ("mechanism", "votes"),
    [(GnMax(sigma=2), [6, 3, 1]), (Confident(sigma1=3, sigma2=2, threshold=9), [6, 3, 1])],
)
@pytest.mark.parametrize("fault", [Narrow(), Shared()], ids=["narrow", "shared"])
def test_a_planted_fault_in_the_noise_is_found(
    mechanism: Mechanism, votes: list[int], fault: NoiseSource
) -> None:
    counts = sample(mechanism, votes, fault, Ring(64))
    assert not agrees(counts, probabilities.outcomes(np.array(votes), mechanism))


def test_the_same_draw_on_every_coordinate_breaks_the_promise_itself() -> None:
    mechanism = GnMax(sigma=20)
    one, other = (sample(mechanism, votes, Shared(), Ring(64)) for votes in ([5, 4, 1], [4, 5, 1]))
    assert least_epsilon(one, other, DELTA) > promised(mechanism)


def test_a_check_that_is_not_charged_is_found() -> None:
    """001, section 4.2.2 charges the argmax of answered queries alone."""
    mechanism = Confident(sigma1=0.5, sigma2=1000, threshold=6)
    one, other = (sample(mechanism, votes, OpenDpNoise(), Ring(64)) for votes in ([6, 3], [5, 4]))
    answers_alone = epsilon([worst_case(mechanism, order).answer for order in ORDERS], ORDERS, DELTA)
    assert answers_alone < least_epsilon(one, other, DELTA) <= promised(mechanism)
