"""`exact` against the two-class closed form and many-digit arithmetic, and against the other bounds."""

import math
from collections.abc import Sequence
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.common.privacy import ONE_VOTE, ORDERS, Influence
from ostraka.guardian.accounting import gnmax_rdp, threshold_rdp
from ostraka.guardian.accounting.exact import divergence as exact
from ostraka.guardian.accounting.numerics.argmax_outcomes import Shifts
from ostraka.guardian.accounting.numerics.moments import largest_rdp
from tests.guardian.accounting import oracle

AT = np.array(ORDERS)
SOME = np.array([1.5, 2.0, 8.0, 32.0, 64.0, 256.0, 1024.0])
DIGITS = 120
counts = st.lists(st.integers(0, 60), min_size=2, max_size=5).filter(any)
sigmas = st.floats(2, 60)


def divergence(p: Sequence[Any], r: Sequence[Any], order: float) -> Any:
    """Return the larger divergence of both directions."""
    with mp.workdps(DIGITS):
        return max(oracle.small_divergence(p, r, order), oracle.small_divergence(r, p, order))


def moves(votes: Sequence[int]) -> list[list[int]]:
    """Move one vote in every way, also from a class that shows none: the sums may have been shifted."""
    found = []
    for a in range(len(votes)):
        for b in range(len(votes)):
            if a != b:
                moved = list(votes)
                moved[a] -= 1
                moved[b] += 1
                found.append(moved)
    return found


def two_class(first: int, second: int, sigma: float) -> list[Any]:
    with mp.workdps(DIGITS):
        wins = oracle.upper_tail((mp.mpf(second) - first) / (mp.sqrt(2) * mp.mpf(sigma)))
        return [wins, oracle.upper_tail((mp.mpf(first) - second) / (mp.sqrt(2) * mp.mpf(sigma)))]


@pytest.mark.parametrize(
    ("votes", "sigma"),
    [
        ([250, 0], 10.0),
        ([250, 0], 40.0),
        ([125, 125], 40.0),
        ([130, 120], 5.0),
        ([249, 1], 2.5),
        ([250, 0], 1.0),
        ([3, 2], 0.7),
        ([5000, 0], 1000.0),
    ],
)
def test_two_classes_equal_the_closed_form_to_order_1024(votes: list[int], sigma: float) -> None:
    rdp = gnmax_rdp([votes], sigma, SOME, bound="exact")[0]
    here = two_class(votes[0], votes[1], sigma)
    there = [two_class(moved[0], moved[1], sigma) for moved in moves(votes)]
    expected = [
        min(max(float(divergence(here, r, order)) for r in there), order / sigma**2) for order in SOME
    ]
    oracle.assert_equal(rdp, expected)


def test_the_oracles_two_ways_to_a_divergence_agree() -> None:
    here, there = two_class(30, 20, 4), two_class(29, 21, 4)
    for order in SOME:
        assert mp.almosteq(
            oracle.small_divergence(here, there, order), oracle.divergence(here, there, order), 1e-30
        )


def test_a_tail_that_an_absolutely_accurate_grid_misses_a_million_times_over() -> None:
    assert gnmax_rdp([[250, 0]], 10, 64, bound="exact")[0, 0] == pytest.approx(9.7e-3, rel=0.01)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("votes", "sigma"),
    [
        ([173, 46, 3, 28, 0], 5.0),
        ([30, 15, 5], 5.0),
        ([20, 20, 20], 7.0),
        ([40, 40, 1, 0], 3.0),
        ([17, 16, 16, 1], 100.0),
        ([50, 0, 0, 0], 2.0),
    ],
)
def test_several_classes_equal_many_digit_arithmetic(votes: list[int], sigma: float) -> None:
    rdp = gnmax_rdp([votes], sigma, SOME, bound="exact")[0]
    here = oracle.argmax_probabilities(votes, sigma)
    there = [oracle.argmax_probabilities(moved, sigma) for moved in moves(votes)]
    expected = [
        min(max(float(divergence(here, r, order)) for r in there), order / sigma**2) for order in SOME
    ]
    oracle.assert_equal(rdp, expected)


@pytest.mark.parametrize("votes", [[30, 15, 5], [25, 25, 0], [50, 0, 0], [24, 25, 1], [0, 49, 1]])
@pytest.mark.parametrize("threshold", [25.0, 300.0, 0.0])
def test_the_check_equals_many_digit_arithmetic(votes: list[int], threshold: float) -> None:
    rdp = threshold_rdp([votes], threshold, 8, SOME, bound="exact")[0]
    largest = max(divergence_of_checks(votes, moved, threshold, 8, SOME[0]) for moved in moves(votes))
    assert rdp[0] == pytest.approx(largest, rel=1e-9)
    for order, value in zip(SOME, rdp, strict=True):
        every = [divergence_of_checks(votes, moved, threshold, 8, order) for moved in moves(votes)]
        assert value == pytest.approx(min(max(every), order / (2 * 64)), rel=1e-9)


def divergence_of_checks(
    votes: Sequence[int], moved: Sequence[int], threshold: float, sigma: float, order: float
) -> float:
    return float(divergence(check(max(votes), threshold, sigma), check(max(moved), threshold, sigma), order))


def check(largest: int, threshold: float, sigma: float) -> list[Any]:
    with mp.workdps(DIGITS):
        z = (mp.mpf(threshold) - largest) / mp.mpf(sigma)
        return [oracle.upper_tail(z), oracle.upper_tail(-z)]


@pytest.mark.heavy
@given(counts, sigmas, st.sampled_from([0.0, 2.0**-16]))
@settings(deadline=None, max_examples=25)
def test_never_above_the_worst_case(votes: list[int], sigma: float, lattice: float) -> None:
    worst = gnmax_rdp([votes], sigma, AT, bound="worst_case")
    rdp = gnmax_rdp([votes], sigma, AT, bound="exact", lattice=lattice)
    assert (rdp >= 0).all()
    assert (rdp <= worst).all()
    check_worst = threshold_rdp([votes], 20, sigma, AT, bound="worst_case")
    assert (threshold_rdp([votes], 20, sigma, AT, bound="exact", lattice=lattice) <= check_worst).all()


@pytest.mark.heavy
@given(counts, sigmas)
@settings(deadline=None, max_examples=25)
def test_the_lattice_only_ever_adds(votes: list[int], sigma: float) -> None:
    continuous = gnmax_rdp([votes], sigma, AT, bound="exact")
    assert (gnmax_rdp([votes], sigma, AT, bound="exact", lattice=2.0**-16) >= continuous).all()


@pytest.mark.heavy
@given(st.permutations([40, 25, 25, 3, 0]), sigmas)
@settings(deadline=None, max_examples=25)
def test_classes_may_be_reordered(votes: list[int], sigma: float) -> None:
    np.testing.assert_allclose(
        gnmax_rdp([votes], sigma, AT, bound="exact"),
        gnmax_rdp([[40, 25, 25, 3, 0]], sigma, AT, bound="exact"),
        rtol=1e-9,
        atol=1e-290,
    )


@pytest.mark.heavy
@given(counts, sigmas, st.sampled_from([0.125, 0.37, 1.6, 2.5]))
@settings(deadline=None, max_examples=25)
def test_votes_sigma_and_sensitivity_scale_together(votes: list[int], sigma: float, by: float) -> None:
    scaled = [[v * by for v in votes]]
    np.testing.assert_allclose(
        gnmax_rdp(scaled, sigma * by, AT, bound="exact", influence=Influence(weight=by)),
        gnmax_rdp([votes], sigma, AT, bound="exact"),
        rtol=1e-9,
        atol=1e-290,
    )


@pytest.mark.heavy
@given(st.integers(0, 40), st.integers(0, 40), sigmas, st.floats(1.01, 2))
@settings(deadline=None, max_examples=25)
def test_more_noise_costs_less_between_two_tied_classes(
    tied: int, rest: int, sigma: float, wider: float
) -> None:
    votes = [[tied + 1, tied + 1, min(rest, tied)]]
    narrow = gnmax_rdp(votes, sigma, AT, bound="exact")
    assert (gnmax_rdp(votes, sigma * wider, AT, bound="exact") <= narrow * (1 + 1e-9)).all()


def test_orders_come_back_as_they_were_asked_for() -> None:
    orders = [32.0, 2.0, 8.0, 2.0]
    rdp = gnmax_rdp([[30, 15, 5]], 5, orders, bound="exact")[0]
    one_by_one = [gnmax_rdp([[30, 15, 5]], 5, order, bound="exact")[0, 0] for order in orders]
    np.testing.assert_allclose(rdp, one_by_one, rtol=1e-12)


def test_queries_are_charged_alike_alone_and_together() -> None:
    votes = np.array([[50, 0, 0], [30, 15, 5], [20, 15, 15], [17, 17, 16]] * 90)
    together = gnmax_rdp(votes, 5, AT, bound="exact")
    for row, rdp in zip(votes[:4], together, strict=False):
        np.testing.assert_allclose(gnmax_rdp([row], 5, AT, bound="exact")[0], rdp, rtol=1e-9)


def test_leaving_neighbours_out_loses_none_that_matters() -> None:
    """All orders together, where most neighbours are left out, and one at a time, where none is."""
    votes = np.random.default_rng(0).multinomial(60, [0.3, 0.2, 0.2, 0.1, 0.1, 0.1], 20)
    together = gnmax_rdp(votes, 4, AT, bound="exact")
    for i in range(0, len(AT), 9):
        one = gnmax_rdp(votes, 4, AT[i : i + 1], bound="exact")[:, 0]
        np.testing.assert_allclose(together[:, i], one, rtol=1e-9, atol=1e-290)


@pytest.mark.parametrize("influence", [Influence(), Influence(2, 0.5)])
def test_more_classes_than_are_calculated_stay_at_the_worst_case(influence: Influence) -> None:
    votes = [[5] * 129]
    exact = gnmax_rdp(votes, 5, AT, bound="exact", influence=influence)
    np.testing.assert_array_equal(exact, gnmax_rdp(votes, 5, AT, bound="worst_case", influence=influence))


def test_only_differences_of_counts_matter_because_sums_may_have_been_shifted() -> None:
    votes = np.array([[0, 0], [20, 0], [9, 8]])
    np.testing.assert_allclose(gnmax_rdp(votes, 5, AT), gnmax_rdp(votes + 9, 5, AT), rtol=1e-12)
    np.testing.assert_allclose(threshold_rdp(votes, 5, 8, AT), threshold_rdp(votes + 9, 14, 8, AT), rtol=1e-9)


def test_leaving_neighbours_out_loses_none_where_noise_is_narrow() -> None:
    """An outcome of e^-700 once was 0 in doubles, and the neighbours it left unknown were not tried again."""
    votes, orders = [[5] * 9 + [1]], AT[::12]
    together = gnmax_rdp(votes, 0.125, orders)[0]
    one = [gnmax_rdp(votes, 0.125, order)[0, 0] for order in orders.tolist()]
    np.testing.assert_allclose(together, one, rtol=1e-9)
    assert (together < orders * 64).all()


def test_an_unknown_outcome_costs_everything_at_every_order() -> None:
    log_p = np.log([[0.5, 0.3, 0.2]])
    change = np.zeros((1, 3, 3, 3))
    change[0, 0, 1] = [-0.1, 0.15, np.nan]
    change[0, 1, 0] = [0.1, -0.15, 0.0]
    known = np.array([[[False, False, False], [True, False, False], [False, False, False]]])
    every = known | np.array([[[False, True, False]] + [[False] * 3] * 2])
    assert np.isfinite(largest_rdp(Shifts(log_p, change), known, AT)).all()
    assert np.isposinf(largest_rdp(Shifts(log_p, change), every, AT)).all()


def test_both_directions_are_charged_and_theorem6_is_not_always_above() -> None:
    votes = [[173, 46, 3, 28, 0]]
    assert gnmax_rdp(votes, 5, 32, bound="exact")[0, 0] == pytest.approx(0.00115, rel=1e-2)
    assert gnmax_rdp(votes, 5, 32, bound="theorem6")[0, 0] < 0.0004
    assert math.isclose(gnmax_rdp([[250, 0]], 40, 8, bound="exact")[0, 0], 0.0, abs_tol=1e-4)


def test_counts_too_far_apart_for_a_grid_cost_the_worst_case() -> None:
    votes = [[2500.0, 0.0], [10.0, 0.0]]
    far, near = gnmax_rdp(votes, 0.2, AT, bound="exact")
    np.testing.assert_array_equal(far, gnmax_rdp(votes, 0.2, AT, bound="worst_case")[0])
    assert (near < far).all()


def test_so_many_classes_are_computed_and_more_left_to_other_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    votes = np.array([[5.0, 2.0, 1.0]])
    monkeypatch.setattr(exact, "MAX_CLASSES", 3)
    assert np.isfinite(exact.gnmax_exact(votes, 4.0, SOME[:2], ONE_VOTE, 0.0)).all()
    monkeypatch.setattr(exact, "MAX_CLASSES", 2)
    assert np.isinf(exact.gnmax_exact(votes, 4.0, SOME[:2], ONE_VOTE, 0.0)).all()
