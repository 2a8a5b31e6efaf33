"""LNMax against two noisy counts, the published formula, and the true divergence of two classes."""

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.common.privacy import ORDERS, Influence
from ostraka.guardian.accounting.bounds.lnmax_rdp import lnmax_rdp, log_q_laplace
from tests.guardian.accounting import oracle

AT = np.array(ORDERS)
SOME = np.array([1.01, 1.5, 8.0, 64.0, 1024.0])
histograms = st.lists(st.integers(0, 60), min_size=2, max_size=5).filter(any)
gammas = st.floats(0.005, 2)


def two_counts(gamma: float, order: float) -> Any:
    """Return the divergence of two counts with Laplace noise that one vote moves (Mironov 2017, Table II)."""
    a, g = mp.mpf(order), mp.mpf(gamma)
    moment = a / (2 * a - 1) * mp.exp((a - 1) * g) + (a - 1) / (2 * a - 1) * mp.exp(-a * g)
    return 2 * mp.log(moment) / (a - 1)


@pytest.mark.parametrize("gamma", [1e-3, 0.1, 1.0, 4.0, 50.0])
def test_the_worst_case_is_that_of_two_noisy_counts(gamma: float) -> None:
    with mp.workdps(50):
        expected = [float(two_counts(gamma, order)) for order in SOME]
    for lattice in (0.0, 2.0**-16):
        rdp = lnmax_rdp([[3, 2]], gamma, SOME, bound="worst_case", lattice=lattice)[0]
        np.testing.assert_allclose(rdp, expected, rtol=1e-5)


@pytest.mark.parametrize("gap", [0, 1, 20, 250])
@pytest.mark.parametrize("gamma", [0.05, 1.0])
def test_the_tail_of_a_difference_of_draws(gap: int, gamma: float) -> None:
    scaled = mp.mpf(gamma) * gap
    expected = float(mp.log((2 + scaled) / (4 * mp.exp(scaled))))
    assert log_q_laplace(np.array([[float(gap), 0.0]]), gamma, 0.0)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("gap", "gamma"), [(1, 0.5), (7, 0.5), (20, 0.1)])
def test_on_a_lattice_it_is_the_sum_over_steps_ties_included(gap: int, gamma: float) -> None:
    steps = np.arange(-4000, 4001)
    mass = np.exp(-gamma / 4 * np.abs(steps))
    mass /= mass.sum()
    at_least = mass[::-1].cumsum()[::-1]
    found = sum(p * at_least[i + 4 * gap] for i, p in enumerate(mass[: -4 * gap]))
    assert log_q_laplace(np.array([[float(gap), 0.0]]), gamma, 0.25)[0] == pytest.approx(np.log(found))


@pytest.mark.parametrize(("votes", "gamma"), [([30, 10, 4], 0.4), ([250, 0], 0.05), ([60, 0, 0], 2.0)])
def test_theorem6_is_the_first_papers_bound(votes: list[int], gamma: float) -> None:
    with mp.workdps(200):
        gaps = [mp.mpf(gamma) * (max(votes) - v) for v in votes[1:]]
        q = mp.fsum((2 + gap) / (4 * mp.exp(gap)) for gap in gaps)
        close, expected = 2 * mp.mpf(gamma), []
        for order in SOME:
            rate = mp.mpf(order) - 1
            moment = (1 - q) * ((1 - q) / (1 - mp.exp(close) * q)) ** rate + q * mp.exp(close * rate)
            expected.append(float(min(mp.log(moment) / rate, two_counts(gamma, order))))
    rdp = lnmax_rdp([votes], gamma, SOME, bound="theorem6")[0]
    np.testing.assert_allclose(rdp, expected, rtol=1e-7)


def two_classes(gap: int, gamma: float) -> list[Any]:
    """Win probabilities of two classes; at gap 0 both have 1/2."""
    scaled = mp.mpf(gamma) * abs(gap)
    less = (2 + scaled) / (4 * mp.exp(scaled))
    return [1 - less, less] if gap >= 0 else [less, 1 - less]


@given(st.integers(0, 60), gammas)
@settings(deadline=None, max_examples=40)
def test_exact_covers_both_directions_of_every_neighbour(gap: int, gamma: float) -> None:
    rdp = lnmax_rdp([[gap + 1, 1]], gamma, SOME)[0]
    with mp.workdps(150):
        here = two_classes(gap, gamma)
        for moved in (gap - 2, gap + 2):
            there = two_classes(moved, gamma)
            for order, value in zip(SOME, rdp, strict=True):
                true = max(
                    oracle.small_divergence(here, there, order), oracle.small_divergence(there, here, order)
                )
                assert true <= value * (1 + 1e-9)


@pytest.mark.heavy
@given(
    histograms,
    gammas,
    st.sampled_from([0.0, 2.0**-16]),
    st.sampled_from([Influence(weight=0.5), Influence(), Influence(3)]),
)
@settings(deadline=None, max_examples=40)
def test_never_above_the_worst_case(votes: list[int], gamma: float, lattice: float, unit: Influence) -> None:
    how: dict[str, Any] = {"lattice": lattice, "influence": unit}
    worst = lnmax_rdp([votes], gamma, AT, bound="worst_case", **how)
    for bound in ("theorem6", "exact"):
        rdp = lnmax_rdp([votes], gamma, AT, bound=bound, **how)
        assert ((rdp >= 0) & (rdp <= worst)).all()


@pytest.mark.heavy
@given(st.permutations([40, 25, 25, 3, 0]), gammas)
@settings(deadline=None, max_examples=20)
def test_classes_may_be_reordered(votes: list[int], gamma: float) -> None:
    expected = lnmax_rdp([[40, 25, 25, 3, 0]], gamma, AT)
    np.testing.assert_allclose(lnmax_rdp([votes], gamma, AT), expected, rtol=1e-9)


@pytest.mark.heavy
@given(histograms, gammas, st.sampled_from([0.125, 4.0]))
@settings(deadline=None, max_examples=20)
def test_votes_noise_and_sensitivity_scale_together(votes: list[int], gamma: float, by: float) -> None:
    scaled = lnmax_rdp([[v * by for v in votes]], gamma / by, AT, influence=Influence(weight=by))
    np.testing.assert_allclose(scaled, lnmax_rdp([votes], gamma, AT), rtol=1e-9, atol=1e-290)


def test_a_clear_plurality_is_cheap() -> None:
    assert lnmax_rdp([[250, 0]], 0.1, 4.0)[0, 0] < 1e-8 < lnmax_rdp([[126, 124]], 0.1, 4.0)[0, 0]
