"""Powerset's shortcut against what a draw for every label set would release."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from common.mechanism import Check, Powerset
from common.sharing.fixed_point import encode
from common.sharing.label_sets import bits_of, index_of
from common.sharing.ring import Ring, RingArray
from guardian.mechanisms import Answers, release
from guardian.mechanisms.powerset import drawn_cells
from guardian.mechanisms.sets import best_key, noisy_argmax_of_sets
from guardian.noise import NoiseSource, OpenDpNoise
from tests.guardian.mechanisms.scripted import Scripted

RINGS = pytest.mark.parametrize("ring", [Ring(32), Ring(64)], ids=["32", "64"])
P = 1e-9
STEP = 2.0**-16


def released(sums: RingArray, mechanism: Powerset, noise: NoiseSource, ring: Ring, *, voters: int) -> Answers:
    totals = np.full(len(sums), voters << 16)
    return release(sums, mechanism, noise, ring, classes=3, totals=totals, voters=voters)


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


@RINGS
@pytest.mark.parametrize("teachers", [1, 3, 5, 20])
@pytest.mark.parametrize("steps", [0.7, 2.5])
def test_dense_powerset_is_distributed_like_a_draw_for_every_set(
    ring: Ring, teachers: int, steps: float
) -> None:
    """On so coarse a lattice that many draws tie; the counts are lattice steps, three of them not 0."""
    counts = [0, 2, 0, 1, 0, 0, 1, 0]
    queries = 4_000
    sums = np.tile(np.array(counts, dtype=ring.dtype), (queries, 1))
    mechanism = Powerset(sigma=steps * STEP)
    answers = released(sums, mechanism, OpenDpNoise(), ring, voters=teachers)
    observed = np.bincount(index_of(answers.labels.astype(np.bool_)), minlength=8)
    assert stats.chisquare(observed, won(counts, steps) * queries).pvalue > P


def test_the_reference_knows_ties() -> None:
    assert won([0, 0, 0], 0.3) == pytest.approx([1 / 3] * 3)
    assert won([0, 0], 0.05) == pytest.approx([0.5, 0.5])
    assert won([9, 0], 1.0)[0] == pytest.approx(1, abs=1e-9)


def test_a_tie_with_several_of_very_many_sets_is_broken_uniformly() -> None:
    """One set has a vote of two steps and 199 have none: it often ties with more than one of them.

    Given its noisy count x it wins with the integral of (P(Z < x) + u P(Z = x))^199 over its key u.
    """
    queries, others, steps = 5_000, 199, 1.0
    at = np.arange(-12, 15)
    mass, voted = (np.exp(-((at - count) ** 2) / (2 * steps**2)) for count in (0, 2))
    reached = np.cumsum(mass) / mass.sum()
    below = np.concatenate([[0.0], reached[:-1]])
    integrals = sum(reached**i * below ** (others - i) for i in range(others + 1)) / (others + 1)
    expected = float((voted / voted.sum() * integrals).sum())

    cells, counts = np.full((queries, 1), 70), np.full((queries, 1), 2, dtype=np.uint64)
    winners = noisy_argmax_of_sets(cells, counts, others + 1, steps * STEP, OpenDpNoise(), Ring(64))
    assert stats.binomtest(int((winners == 70).sum()), queries, expected).pvalue > P


@RINGS
def test_fifty_votes_among_all_sets_of_forty_labels(ring: Ring) -> None:
    """2^40 sets: without noise the votes win, with much of it a set that nobody voted for."""
    rng = np.random.default_rng(40)
    votes = np.unique(index_of(rng.random((50, 40)) < 0.2))[None]
    counts = encode(np.full(votes.shape, 1), ring)
    counts[0, 7] = encode(np.array([[6]]), ring)[0, 0]

    def winner(sigma: float) -> int:
        return int(noisy_argmax_of_sets(votes, counts, 2**40, sigma, OpenDpNoise(), ring)[0])

    assert winner(0.01) == votes[0, 7]
    winners = [winner(40.0) for _ in range(20)]
    assert not set(winners) & set(votes[0].tolist())
    assert len(set(winners)) == len(winners)
    assert bits_of(np.array(winners), 40).shape == (20, 40)


@pytest.mark.parametrize(("rank", "picked"), [(0, 0), (1, 2), (2, 3), (3, 5), (4, 8)])
def test_the_others_are_picked_by_their_rank(rank: int, picked: int) -> None:
    class Rank(Scripted):
        def uniform(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
            return np.full(shape, rank, dtype=np.uint64)

    cells = np.array([[1, 4, 6, 7]])
    counts = encode(np.zeros((1, 4), dtype=np.int64), Ring(64))
    assert noisy_argmax_of_sets(cells, counts, 9, 1.0, Rank(0, 1), Ring(64)).tolist() == [picked]


@pytest.mark.parametrize(("noise", "winner"), [(2.5, 3), (3.5, 5)])
def test_a_set_without_votes_wins_where_the_largest_of_their_draws_does(noise: float, winner: int) -> None:
    """The scripted rank is 2^64 - 1 modulo the six other sets: the fourth of them."""
    cells, counts = np.array([[2, 3]]), encode(np.array([[1, 3]]), Ring(64))
    scripted = Scripted(0, noise)
    assert noisy_argmax_of_sets(cells, counts, 8, 1.0, scripted, Ring(64)).tolist() == [winner]
    assert scripted.asked == [(1, (1, 2)), (1, (1,))]


@pytest.mark.parametrize("others", [1, 2, 5, 1000])
@pytest.mark.parametrize(("largest", "steps"), [(-3, 1.5), (0, 1.5), (4, 1.5), (-3, 40), (60, 40), (200, 40)])
def test_the_best_key_is_that_of_the_sets_which_share_the_largest_draw(
    others: int, largest: int, steps: float
) -> None:
    uniform = np.array([1e-6, 0.1, 0.5, 0.9, 1.0])
    key = best_key(uniform, np.full(5, largest), others, steps * STEP)
    at = np.arange(largest + 1 - int(50 * steps) - 60, largest + 1)
    mass = np.exp(-(at**2) / (2 * steps**2) + largest**2 / (2 * steps**2))
    equal = mass[-1] / mass.sum()
    chance = ((1 - equal + equal * key) ** others - (1 - equal) ** others) / (1 - (1 - equal) ** others)
    assert chance == pytest.approx(uniform, abs=2e-3)


def test_the_best_key_of_one_is_uniform_and_never_leaves_the_unit_interval() -> None:
    uniform = np.linspace(2.0**-53, 1, 11)
    assert best_key(uniform, np.zeros(11, dtype=np.int64), 1, 40.0) == pytest.approx(uniform, abs=1e-9)
    for largest in (-(2**40), 2**40):
        keys = best_key(uniform, np.full(11, largest), 2**40, 1.0)
        assert ((keys >= 0) & (keys <= 1)).all()


def test_as_many_sets_as_teachers_are_drawn_alone_those_with_votes_first() -> None:
    sums = np.array([[0, 0, 5, 0, 1, 0], [0, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 1]], dtype=np.uint64)
    assert drawn_cells(sums, 3).tolist() == [[0, 2, 4], [0, 1, 2], [0, 1, 5]]
    assert drawn_cells(sums, 60).tolist() == [list(range(6))] * 3


def test_sums_with_votes_for_more_sets_than_teachers_draw_for_all_of_them() -> None:
    sums = np.array([[1, 1, 5, 1, 0, 0], [0, 0, 0, 0, 0, 2]], dtype=np.uint64)
    assert drawn_cells(sums, 2).tolist() == [[0, 1, 2, 3], [0, 1, 2, 5]]


def test_sums_with_votes_for_more_sets_draw_by_themselves() -> None:
    sums = encode(np.array([[9, 1, 1, 1, 0, 0, 0, 0], [0, 0, 9, 0, 0, 0, 0, 0], [9] * 8]), Ring(64))
    noise = Scripted(0, -1, 0, -1, 0)
    answers = released(sums, Powerset(sigma=1.0), noise, Ring(64), voters=2)
    assert noise.asked == [(1, (1, 2)), (1, (1,)), (1, (1, 4)), (1, (1,)), (1, (1, 8))]
    assert answers.labels[:2].tolist() == [[0, 0, 0], [0, 1, 0]]


@RINGS
def test_a_set_is_answered_whole_where_the_largest_count_passes(ring: Ring) -> None:
    sums = encode(np.array([[2, 0, 0, 0, 8, 0, 0, 0], [4, 3, 0, 0, 3, 0, 0, 0]]), ring)
    mechanism = Powerset(sigma=1.0, check=Check(sigma=2.0, threshold=7.0))
    noise = Scripted([-1, 2], 0)
    answers = released(sums, mechanism, noise, ring, voters=10)
    assert answers.answered.tolist() == [[True] * 3, [False] * 3]
    assert answers.labels.tolist() == [[1, 1, 0], [-1, -1, -1]]
