"""Powerset draws for every label set, so that neither its law nor its work knows which sets have votes."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from ostraka.common.mechanism import Check, Powerset
from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.label_sets import index_of
from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.guardian.mechanisms import Answers, release
from ostraka.guardian.noise import ExactNoise, NoiseSource
from tests.guardian.mechanisms.scripted import Scripted

RINGS = pytest.mark.parametrize("ring", [Ring(32), Ring(64)], ids=["32", "64"])
P = 1e-9
STEP = 2.0**-16


def released(sums: RingArray, mechanism: Powerset, noise: NoiseSource, ring: Ring) -> Answers:
    return release(sums, mechanism, noise, ring, classes=3, totals=np.full(len(sums), 10 << 16))


def won(counts: list[int], steps: float) -> NDArray[np.float64]:
    """Chance of each count to be the largest after its own discrete Gaussian, ties broken uniformly.

    Where ties are likely: with a uniform key u the count wins if every other is below or equal with a
    smaller key, a polynomial in u of degree below 16, which eight Gauss nodes integrate exactly.
    """
    at = np.arange(min(counts) - int(12 * steps), max(counts) + int(12 * steps) + 1)[:, None]
    mass = np.exp(-((at - np.array(counts)) ** 2) / (2 * steps**2))
    mass /= mass.sum(axis=0)
    below = np.cumsum(mass, axis=0) - mass
    nodes, weights = np.polynomial.legendre.leggauss(8)
    total = np.zeros(len(counts))
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        reached = below + node * mass
        for j in range(len(counts)):
            total[j] += weight * (mass[:, j] * np.delete(reached, j, axis=1).prod(axis=1)).sum()
    return total


@pytest.mark.heavy
@RINGS
@pytest.mark.parametrize("steps", [0.7, 2.5])
def test_the_winner_is_distributed_like_an_argmax_over_every_set(steps: float, ring: Ring) -> None:
    """On so coarse a lattice that many draws tie; the counts are lattice steps, three of them not 0."""
    counts = [0, 2, 0, 1, 0, 0, 1, 0]
    queries = 4_000
    sums = np.tile(np.array(counts, dtype=ring.dtype), (queries, 1))
    answers = released(sums, Powerset(sigma=steps * STEP), ExactNoise(), ring)
    observed = np.bincount(index_of(answers.labels.astype(np.bool_)), minlength=8)
    assert stats.chisquare(observed, won(counts, steps) * queries).pvalue > P


def test_the_reference_knows_ties() -> None:
    assert won([0, 0, 0], 0.3) == pytest.approx([1 / 3] * 3)
    assert won([0, 0], 0.05) == pytest.approx([0.5, 0.5])
    assert won([9, 0], 1.0)[0] == pytest.approx(1, abs=1e-9)


def test_a_set_without_votes_wins_by_its_own_draw() -> None:
    sums = encode(np.array([[0, 0, 4, 0, 0, 0, 0, 0]]), Ring(64))
    draws = np.zeros((1, 8))
    draws[0, 5] = 4.5
    answers = released(sums, Powerset(sigma=1.0), Scripted(draws), Ring(64))
    assert index_of(answers.labels.astype(np.bool_)).tolist() == [5]


@pytest.mark.parametrize("row", [[9, 0, 0, 0, 0, 0, 0, 0], [0] * 8, [9] * 8, [-3, 2, 1, 1, 1, 1, 1, 1]])
def test_every_sum_asks_for_the_same_draws(row: list[int]) -> None:
    noise = Scripted(0)
    released(encode(np.array([row, row]), Ring(64)), Powerset(sigma=1.0), noise, Ring(64))
    assert noise.asked == [(1, (2, 8))]


@RINGS
def test_a_set_is_answered_whole_where_the_largest_count_passes(ring: Ring) -> None:
    sums = encode(np.array([[2, 0, 0, 0, 8, 0, 0, 0], [4, 3, 0, 0, 3, 0, 0, 0]]), ring)
    mechanism = Powerset(sigma=1.0, check=Check(sigma=2.0, threshold=7.0))
    noise = Scripted([-1, 2], 0)
    answers = released(sums, mechanism, noise, ring)
    assert answers.answered.tolist() == [[True] * 3, [False] * 3]
    assert answers.labels.tolist() == [[1, 1, 0], [-1, -1, -1]]
