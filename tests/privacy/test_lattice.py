"""What the lattice does to the bounds, in exact sums on lattices coarse enough to matter."""

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from ostraka.common.privacy import Influence
from ostraka.guardian.accounting import gnmax_rdp, threshold_rdp
from ostraka.guardian.accounting.bounds.confident_rdp import log_q_check
from ostraka.guardian.accounting.bounds.gnmax_rdp import log_q_argmax
from ostraka.guardian.accounting.exact.noisy_outcomes import NoisyCheck, argmax_part
from tests.guardian.accounting.oracle import divergence

mp.mp.dps = 60


def pmf(steps: float, reach: int) -> dict[int, Any]:
    """Return the discrete Gaussian on -reach..reach, P(x) proportional to exp(-x^2/(2 steps^2))."""
    weights = {x: mp.exp(-(mp.mpf(x) ** 2) / (2 * mp.mpf(steps) ** 2)) for x in range(-reach, reach + 1)}
    total = mp.fsum(weights.values())
    return {x: w / total for x, w in weights.items()}


@pytest.mark.parametrize("steps", [1, 2.5, 8])
@pytest.mark.parametrize("shift", [1, 2, 5])
@pytest.mark.parametrize("order", [1.5, 4, 32])
def test_a_whole_shift_obeys_the_continuous_bound(steps: float, shift: int, order: float) -> None:
    """Canonne, Kamath and Steinke 2020."""
    reach = int(30 * steps + 40 * shift)
    noise = pmf(steps, reach)
    here = [noise[x] for x in range(-reach + shift, reach + 1)]
    there = [noise[x - shift] for x in range(-reach + shift, reach + 1)]
    assert divergence(here, there, order) <= order * shift**2 / (2 * steps**2) * (1 + 1e-12)


def argmax(votes: Sequence[int], steps: float) -> list[Any]:
    """Outcome probabilities with ties broken uniformly, votes in lattice steps."""
    reach = int(16 * steps)
    noise = pmf(steps, reach)
    at = range(min(votes) - reach, max(votes) + reach + 1)
    masses = [{x: noise.get(x - v, mp.mpf(0)) for x in at} for v in votes]
    below = [dict(zip(at, _running(list(mass.values())), strict=True)) for mass in masses]
    return [mp.fsum(masses[j][x] * _share(masses, below, j, x) for x in at) for j in range(len(votes))]


def _running(values: list[Any]) -> list[Any]:
    sums = [mp.mpf(0)]
    for value in values[:-1]:
        sums.append(sums[-1] + value)
    return sums


def _share(masses: list[dict[int, Any]], below: list[dict[int, Any]], j: int, x: int) -> Any:
    """Return the chance that class j, noisy count x, is chosen: 1/(ties + 1) if all others are at most x."""
    ties = [mp.mpf(1)]
    for i in range(len(masses)):
        if i != j:
            ties = [
                (ties[t] if t < len(ties) else 0) * below[i][x] + (ties[t - 1] if t else 0) * masses[i][x]
                for t in range(len(ties) + 1)
            ]
    return mp.fsum(p / (t + 1) for t, p in enumerate(ties))


HISTOGRAMS = pytest.mark.parametrize("votes", [[40, 10], [33, 8, 2], [20, 20, 5], [48, 0, 0], [30, 29]])


@HISTOGRAMS
@pytest.mark.parametrize("steps", [4.0, 5.5])
def test_q_of_the_argmax_bounds_the_chance_of_another_class(votes: list[int], steps: float) -> None:
    counts = np.array([votes], dtype=float)
    true = mp.log(mp.fsum(argmax(votes, steps)[1:]))
    assert true <= log_q_argmax(counts, steps, 1.0)[0] + 1e-12


@pytest.mark.parametrize("steps", [4.0, 5.5])
@pytest.mark.parametrize("largest", [0, 10, 24, 25, 26, 60])
@pytest.mark.parametrize("threshold", [25.0, 25.3])
def test_q_of_the_check_bounds_the_less_likely_outcome(steps: float, largest: int, threshold: float) -> None:
    noise = pmf(steps, int(16 * steps))
    passed = mp.fsum(p for x, p in noise.items() if largest + x >= threshold)
    bound = log_q_check(np.array([[largest, 0.0]]), threshold, steps, 1.0)[0]
    assert mp.log(min(passed, 1 - passed)) <= bound + 1e-12


@HISTOGRAMS
@pytest.mark.parametrize("steps", [4.0, 5.5])
def test_theorem6_holds_on_the_lattice(votes: list[int], steps: float) -> None:
    orders = [1.5, 3.0, 8.0]
    bounds = gnmax_rdp([votes], steps, orders, bound="theorem6", lattice=1.0)[0]
    here = argmax(votes, steps)
    for source, target in ((0, 1), (1, 0)):
        moved = list(votes)
        moved[source] -= 1
        moved[target] += 1
        if min(moved) >= 0:
            there = argmax(moved, steps)
            for order, bound in zip(orders, bounds, strict=True):
                assert divergence(here, there, order) <= bound * (1 + 1e-12)


@pytest.mark.parametrize("largest", [0, 10, 25, 60])
def test_theorem6_of_the_check_holds_on_the_lattice(largest: int) -> None:
    orders = [1.5, 3.0, 8.0]
    bounds = threshold_rdp([[largest, 0]], 25, 4.0, orders, bound="theorem6", lattice=1.0)[0]
    noise = pmf(4.0, 100)

    def outcomes(count: int) -> list[Any]:
        passed = mp.fsum(p for x, p in noise.items() if count + x >= 25)
        return [passed, 1 - passed]

    for moved in (largest - 1, largest + 1):
        for order, bound in zip(orders, bounds, strict=True):
            assert divergence(outcomes(largest), outcomes(moved), order) <= bound * (1 + 1e-12)


def test_finer_lattices_come_closer_to_the_papers_value() -> None:
    counts = np.array([[200.0, 30.0, 20.0]])
    gaps = [
        float(log_q_argmax(counts, 40.0, lattice)[0] - log_q_argmax(counts, 40.0, 0.0)[0])
        for lattice in (1.0, 2.0**-8, 2.0**-16)
    ]
    assert all(before > after > 0 for before, after in pairwise(gaps))
    assert gaps[-1] < 1e-5 * sqrt(2)


FINE = 17
"""Lattice steps a vote where `exact` is tested: noise of 4 votes is 68 steps."""


@pytest.mark.heavy
@pytest.mark.parametrize("votes", [[10, 6, 2], [8, 8, 8], [12, 0]])
def test_exact_knows_how_far_the_lattice_moves_outcomes(votes: list[int]) -> None:
    part = argmax_part(np.array([votes], dtype=float), 4.0, 1.0, 1 / FINE)
    true = argmax([v * FINE for v in votes], 4.0 * FINE)
    off = [abs(float(mp.log(p)) - log_p) for p, log_p in zip(true, part.shifts.log_p[0], strict=True)]
    assert 0 < max(off) <= part.error[0]


@pytest.mark.parametrize("largest", [0, 6, 7, 12])
@pytest.mark.parametrize("threshold", [7.0, 7 + 0.5 / FINE])
def test_exact_knows_how_far_the_lattice_moves_the_check(largest: int, threshold: float) -> None:
    part = NoisyCheck(np.array([[largest, 0.0]]), threshold, 4.0, 1 / FINE).move_vote(1.0)
    noise = pmf(4.0 * FINE, 16 * 4 * FINE)
    passed = mp.fsum(p for x, p in noise.items() if largest * FINE + x >= threshold * FINE)
    off = [
        abs(float(mp.log(p)) - log_p)
        for p, log_p in zip([passed, 1 - passed], part.shifts.log_p[0], strict=True)
    ]
    assert max(off) <= part.error[0]


@pytest.mark.heavy
@pytest.mark.parametrize("votes", [[10, 6, 2], [8, 8, 8]])
def test_exact_holds_on_the_lattice(votes: list[int]) -> None:
    orders = [1.5, 3.0, 8.0]
    bounds = gnmax_rdp([votes], 4.0, orders, bound="exact", lattice=1 / FINE)[0]
    here = argmax([v * FINE for v in votes], 4.0 * FINE)
    moved = [votes[0] - 1, votes[1] + 1, votes[2]]
    there = argmax([v * FINE for v in moved], 4.0 * FINE)
    for order, bound in zip(orders, bounds, strict=True):
        assert max(divergence(here, there, order), divergence(there, here, order)) <= bound


def test_what_the_rings_lattice_adds_to_exact_is_beyond_notice() -> None:
    votes = [[180, 40, 20, 10], [70, 65, 60, 55]]
    continuous = gnmax_rdp(votes, 40, [8.0], bound="exact")
    assert np.abs(gnmax_rdp(votes, 40, [8.0], bound="exact", lattice=2.0**-16) - continuous).max() < 1e-9


def test_noise_too_narrow_for_the_lattice_is_charged_the_worst_case() -> None:
    worst = gnmax_rdp([[9, 0]], 4.0, [8.0], bound="worst_case")
    assert gnmax_rdp([[9, 0]], 4.0, [8.0], bound="exact", lattice=0.5) == worst


@pytest.mark.heavy
@pytest.mark.parametrize("votes", [[10, 6, 2], [8, 8, 8]])
@pytest.mark.parametrize("move", [[-2, 2, 0], [-2, 1, 1], [1, 1, -2]])
def test_exact_holds_on_the_lattice_for_two_votes_of_one_unit(votes: list[int], move: list[int]) -> None:
    orders = [1.5, 3.0, 8.0]
    bounds = gnmax_rdp([votes], 4.0, orders, influence=Influence(2), lattice=1 / FINE)[0]
    here = argmax([v * FINE for v in votes], 4.0 * FINE)
    there = argmax([(v + by) * FINE for v, by in zip(votes, move, strict=True)], 4.0 * FINE)
    for order, bound in zip(orders, bounds, strict=True):
        assert max(divergence(here, there, order), divergence(there, here, order)) <= bound
