"""theorem6 against many-digit arithmetic, and as an inequality."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.common.privacy import ORDERS, Influence
from ostraka.guardian.accounting import gnmax_rdp, threshold_rdp
from ostraka.guardian.accounting.bounds.gnmax_rdp import MIN_STEPS, with_lattice
from tests.guardian.accounting import oracle

AT = np.array(ORDERS)
counts = st.lists(st.integers(0, 250), min_size=2, max_size=12)
sigmas = st.floats(0.5, 200)


@given(counts, sigmas, st.sampled_from([0.5, 1.0, 1.5, 3.0]))
@settings(deadline=None, max_examples=30)
def test_gnmax_equals_the_oracle(votes: list[int], sigma: float, sensitivity: float) -> None:
    rdp = gnmax_rdp([votes], sigma, AT[::12], bound="theorem6", influence=Influence(weight=sensitivity))[0]
    q = oracle.q_argmax(votes, sigma)
    expected = [float(oracle.theorem6(q, sigma / sensitivity, order)) for order in AT[::12]]
    oracle.assert_equal(rdp, expected)


@pytest.mark.heavy
@given(st.integers(0, 300), st.integers(0, 300), sigmas, st.sampled_from([0.5, 1.0, 3.0]))
@settings(deadline=None, max_examples=30)
def test_threshold_equals_the_oracle(largest: int, threshold: int, sigma: float, sensitivity: float) -> None:
    rdp = threshold_rdp(
        [[largest, 0]], threshold, sigma, AT[::12], bound="theorem6", influence=Influence(weight=sensitivity)
    )
    q = oracle.q_check(largest, threshold, sigma)
    scale = math.sqrt(2) * sigma / sensitivity
    expected = [float(oracle.theorem6(q, scale, order)) for order in AT[::12]]
    oracle.assert_equal(rdp[0], expected)


@given(counts, sigmas, st.floats(0.1, 10), st.sampled_from([0.0, 2.0**-16]))
def test_never_above_the_worst_case_and_never_negative(
    votes: list[int], sigma: float, sensitivity: float, lattice: float
) -> None:
    influence = Influence(weight=sensitivity)
    rdp = gnmax_rdp([votes], sigma, AT, bound="theorem6", influence=influence, lattice=lattice)
    worst = gnmax_rdp([votes], sigma, AT, bound="worst_case", influence=influence)
    assert (rdp >= 0).all()
    assert (rdp <= worst).all()


@given(counts, sigmas)
def test_the_lattice_only_ever_adds_to_the_cost(votes: list[int], sigma: float) -> None:
    lattice = gnmax_rdp([votes], sigma, AT, bound="theorem6", lattice=2.0**-16)
    continuous = gnmax_rdp([votes], sigma, AT, bound="theorem6")
    assert (lattice >= continuous * (1 - 1e-12)).all()
    far = threshold_rdp([votes], 100, sigma, AT, bound="theorem6", lattice=2.0**-16)
    assert (far >= threshold_rdp([votes], 100, sigma, AT, bound="theorem6") * (1 - 1e-12)).all()


@given(st.permutations([90, 40, 30, 5, 0]), sigmas)
def test_classes_may_be_reordered(votes: list[int], sigma: float) -> None:
    np.testing.assert_allclose(
        gnmax_rdp([votes], sigma, AT, bound="theorem6"),
        gnmax_rdp([sorted(votes)], sigma, AT, bound="theorem6"),
        rtol=1e-12,
    )


@given(counts, sigmas, st.sampled_from([0.25, 0.5, 2.0, 8.0]))
def test_votes_sigma_and_sensitivity_scale_together(votes: list[int], sigma: float, by: float) -> None:
    scaled = gnmax_rdp(
        [[v * by for v in votes]], sigma * by, AT, bound="theorem6", influence=Influence(weight=by)
    )
    np.testing.assert_allclose(scaled, gnmax_rdp([votes], sigma, AT, bound="theorem6"), rtol=1e-9)


def test_queries_are_charged_alike_alone_and_together() -> None:
    votes = np.array([[250, 0, 0], [130, 100, 20], [90, 80, 80], [200, 50, 0]])
    together = gnmax_rdp(votes, 20, AT, bound="theorem6")
    for row, alone in zip(votes, together, strict=True):
        np.testing.assert_array_equal(gnmax_rdp([row], 20, AT, bound="theorem6")[0], alone)


def _before_and_after(votes: Sequence[int], sigma: float, source: int, target: int) -> tuple[Any, Any]:
    """Return the outcome probabilities of `votes` and of one vote moved."""
    moved = list(votes)
    moved[source] -= 1
    moved[target] += 1
    return oracle.argmax_probabilities(votes, sigma), oracle.argmax_probabilities(moved, sigma)


@pytest.mark.parametrize("votes", [[40, 10], [30, 15, 5], [25, 24, 1], [50, 0, 0]])
def test_the_true_divergence_is_below_in_the_theorems_direction(votes: list[int]) -> None:
    orders = [1.5, 4.0, 20.0]
    bounds = gnmax_rdp([votes], 8, orders, bound="theorem6")[0]
    worst = gnmax_rdp([votes], 8, orders, bound="worst_case")[0]
    moves = [(a, b) for a in range(len(votes)) for b in range(len(votes)) if a != b and votes[a] > 0]
    for source, target in moves:
        p, r = _before_and_after(votes, 8, source, target)
        for order, bound, top in zip(orders, bounds, worst, strict=True):
            assert oracle.divergence(p, r, order) <= bound * (1 + 1e-9)
            assert oracle.divergence(r, p, order) <= top * (1 + 1e-9)


def test_the_other_direction_can_exceed_it() -> None:
    votes, order = [173, 46, 3, 28, 0], 32.0
    bound = gnmax_rdp([votes], 5, order, bound="theorem6")[0, 0]
    p, r = _before_and_after(votes, 5, 0, 1)
    forwards, back = oracle.divergence(p, r, order), oracle.divergence(r, p, order)
    assert bound == pytest.approx(0.00035, abs=1e-5)
    assert forwards <= bound < back
    assert float(back) == pytest.approx(0.00115, abs=1e-5)


def test_noise_of_too_few_steps_proves_nothing() -> None:
    log_q, step = np.array([-5.0]), 0.25
    assert with_lattice(log_q, MIN_STEPS * step, step, draws=2) < 0
    assert with_lattice(log_q, np.nextafter(MIN_STEPS * step, 0), step, draws=2) == 0
