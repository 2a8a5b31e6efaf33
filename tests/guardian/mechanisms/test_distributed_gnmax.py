"""GNMax with the parties' noise: the guardian adds none, and votes in the clear get that of all parties."""

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.common.mechanism import DistributedGnMax
from ostraka.common.noise import ExactNoise
from ostraka.common.privacy.summed_noise import share_sigma
from ostraka.common.sharing.modulus import Modulus
from ostraka.common.sharing.prime_field import PrimeField
from ostraka.common.sharing.ring import Ring
from ostraka.guardian.blind.circuit_inputs import answer_words
from ostraka.guardian.mechanisms import release
from ostraka.guardian.mechanisms.votes import release_votes

MECHANISM = DistributedGnMax(sigma=3.0, honest=4)


class Counting(ExactNoise):
    """Keeps the scales and shapes that were drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[tuple[float, tuple[int, ...]]] = []

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        self.drawn.append((sigma, shape))
        return super().gaussian(sigma, shape)


@pytest.mark.parametrize("modulus", [Ring(64), Ring(32), PrimeField(31)])
def test_the_largest_sum_wins_and_nothing_is_added(modulus: Modulus) -> None:
    noise = Counting()
    sums = modulus.wrap(np.array([[-5, 3, 4], [9, 9, 1]]))
    totals = np.zeros(2, dtype=np.int64)
    for _ in range(20):
        answers = release(sums, MECHANISM, noise, modulus, classes=3, totals=totals)
        assert answers.answered.all()
        assert answers.labels[0] == 2
        assert answers.labels[1] in (0, 1)
    assert noise.drawn == []


def test_a_blind_tally_adds_nothing() -> None:
    noise, ring = Counting(), Ring(32)
    sums = ring.wrap(np.array([[-5, 3, 4]]))
    words = answer_words(MECHANISM, sums, np.zeros(1, dtype=np.int64), noise, ring)
    assert np.array_equal(words, np.hstack([sums, np.zeros_like(sums)]))
    assert noise.drawn == []


def test_votes_in_the_clear_get_the_noise_of_every_honest_party() -> None:
    noise = Counting()
    release_votes(MECHANISM, np.array([[5.0, 1.0, 0.0]]), noise, classes=3, teachers=6)
    assert noise.drawn == [(share_sigma(3.0, 4), (1, 3))] * 4
