"""Smooth sensitivity against every histogram there is, for few votes; the price of publishing a total."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.guardian.accounting import InputError, confident_rdp, gnmax_rdp, threshold_rdp
from ostraka.guardian.accounting.bounds.smooth_sensitivity import publication_rdp, smooth_sensitivity
from ostraka.guardian.accounting.bounds.theorem6 import theorem6

TEACHERS = 24
EVERY = np.array([(a, b, TEACHERS - a - b) for a in range(TEACHERS + 1) for b in range(TEACHERS + 1 - a)])
APART = np.abs(EVERY[:, None] - EVERY[None]).sum(axis=2) // 2


def smooth_by_hand(rdp: np.ndarray, beta: float) -> np.ndarray:
    """Return the smooth sensitivity (H,) of one query's rdp (H,), over every histogram."""
    change = np.abs(rdp[:, None] - rdp[None])
    local = np.where(APART == 1, change, 0.0).max(axis=1)
    return np.asarray((np.exp(-beta * APART) * local[None]).max(axis=1))


def ours(beta: float, sigma: float, order: float, lattice: float) -> np.ndarray:
    return np.array([smooth_sensitivity([row], sigma, order, beta, lattice=lattice) for row in EVERY])


@pytest.mark.parametrize("sigma", [2.0, 3.0])
@pytest.mark.parametrize("order", [1.5, 4.0])
@pytest.mark.parametrize(("beta", "lattice"), [(0.02, 0.0), (0.3, 2.0**-16)])
def test_never_below_that_of_every_histogram_within_any_distance(
    sigma: float, order: float, beta: float, lattice: float
) -> None:
    rdp = gnmax_rdp(EVERY, sigma, order, bound="theorem6", lattice=lattice)[:, 0]
    assert rdp.min() < rdp.max() / 2
    bound = ours(beta, sigma, order, lattice)
    assert (bound >= smooth_by_hand(rdp, beta)).all()
    ratio = bound[:, None] / bound[None]
    assert (ratio[APART == 1] <= math.exp(beta) * (1 + 1e-9)).all()


@pytest.mark.parametrize("beta", [0.05, 0.5])
def test_never_below_that_of_a_check_alone(beta: float) -> None:
    threshold, sigma1, order = 18.5, 1.5, 3.0
    rdp = threshold_rdp(EVERY, threshold, sigma1, order, bound="theorem6")[:, 0]
    by_hand = smooth_by_hand(rdp, beta)
    assert by_hand.max() > 0
    for row, least in zip(EVERY, by_hand, strict=True):
        how: dict[str, Any] = {"threshold": threshold, "sigma1": sigma1, "answered": [False]}
        assert smooth_sensitivity([row], 3, order, beta, **how) >= least


def test_queries_add_up_as_one_record_votes_in_all_of_them() -> None:
    votes, answered, beta, order = EVERY[[0, 40, 80, 200]], np.array([True, False, True, True]), 0.1, 3.0
    total = confident_rdp(votes, 15, 3, 2, order, answered, bound="theorem6").sum()
    bound = smooth_sensitivity(votes, 2, order, beta, threshold=15, sigma1=3, answered=answered)
    draws = np.random.default_rng(0)
    for _ in range(200):
        rows = [draws.choice(np.flatnonzero(APART[i] <= 1)) for i in (0, 40, 80, 200)]
        other = confident_rdp(EVERY[rows], 15, 3, 2, order, answered, bound="theorem6").sum()
        assert abs(other - total) <= bound
    alone = [smooth_sensitivity([row], 2, order, beta) for row in votes[answered]]
    assert smooth_sensitivity(votes[answered], 2, order, beta) <= sum(alone) * (1 + 1e-5)


@given(st.floats(2, 200), st.floats(1.01, 100))
@settings(deadline=None, max_examples=60)
def test_theorem6_grows_with_q(scale: float, order: float) -> None:
    """What the bound rests on; docs/accounting-smooth.md proves it for scales from 2."""
    rdp = theorem6(-np.geomspace(1e-4, 1e3, 3000), scale, np.array([order]))[:, 0]
    assert (np.diff(rdp) <= 1e-12 * rdp[:-1]).all()


def test_more_votes_apart_or_more_smoothness_need_less() -> None:
    clear, close = [[240, 5, 5]], [[130, 120, 0]]
    assert smooth_sensitivity(clear, 20, 8, 0.4) < smooth_sensitivity(close, 20, 8, 0.4)
    assert smooth_sensitivity(clear, 20, 8, 0.4) < smooth_sensitivity(clear, 20, 8, 0.02)


def test_no_more_than_the_worst_case_and_all_of_it_where_nothing_is_proved() -> None:
    votes, order = EVERY[::9], 5.0
    worst = len(votes) * order
    assert smooth_sensitivity(votes, 1, order, 0.1) == pytest.approx(worst, rel=1e-5)
    assert smooth_sensitivity(votes, 3, order, 1e-6) <= worst / 9 * (1 + 1e-5)


def test_reordering_and_scaling_change_nothing() -> None:
    votes = EVERY[[3, 100, 222]].astype(float)
    bound = smooth_sensitivity(votes, 3, 4, 0.1)
    assert smooth_sensitivity(votes[::-1, ::-1], 3, 4, 0.1) == pytest.approx(bound, rel=1e-9)
    assert smooth_sensitivity(votes / 2, 1.5, 4, 0.1, sensitivity=0.5) == pytest.approx(bound, rel=1e-9)


def gaussians(first: float, second: float, apart: float, order: float) -> float:
    """D_order(N(0, first^2) || N(apart, second^2)) by integration."""
    x, width = np.linspace(-60, 60, 400_001, retstep=True)
    log_p = -(x**2) / (2 * first**2) - math.log(first)
    log_r = -((x - apart) ** 2) / (2 * second**2) - math.log(second)
    moment = np.exp(order * log_p + (1 - order) * log_r).sum() * width / math.sqrt(2 * math.pi)
    return math.log(moment) / (order - 1)


@pytest.mark.parametrize(("beta", "sigma", "order"), [(0.05, 2.0, 4.0), (0.2, 1.5, 2.0), (0.01, 3.0, 8.0)])
def test_publishing_costs_the_largest_divergence_of_two_close_gaussians(
    beta: float, sigma: float, order: float
) -> None:
    rdp = publication_rdp(beta, sigma, order)[0]
    found = []
    for by in (-beta, -beta / 2, 0.0, beta / 2, beta):
        first, second = sigma * math.exp(by), sigma
        found.append(gaussians(first, second, min(1.0, math.exp(by)), order))
    assert max(found) == pytest.approx(rdp, rel=1e-6)
    published = order * math.exp(2 * beta) / sigma**2
    published += (beta * order - math.log(1 - 2 * order * beta) / 2) / (order - 1)
    assert rdp <= published


def test_publishing_has_no_bound_at_orders_too_large_for_beta() -> None:
    beta = 0.1
    last = 1 + 1 / math.expm1(2 * beta)
    assert np.isfinite(publication_rdp(beta, 2, last * 0.999)).all()
    assert np.isinf(publication_rdp(beta, 2, [last, 50.0])).all()
    assert publication_rdp(1e-12, 2, 8.0)[0] == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize(
    ("how", "argument"),
    [
        ({"beta": 0.0}, "beta"),
        ({"order": 1.0}, "orders"),
        ({"sigma": -1.0}, "sigma"),
        ({"threshold": 3.0}, "threshold"),
        ({"threshold": 3.0, "sigma1": 0.0, "answered": [True]}, "sigma1"),
        ({"votes": [[1, -2]]}, "votes"),
    ],
)
def test_bad_input(how: dict[str, Any], argument: str) -> None:
    given_: dict[str, Any] = {"votes": [[3, 2]], "sigma": 2.0, "order": 4.0, "beta": 0.1} | how
    with pytest.raises(InputError) as refusal:
        smooth_sensitivity(**given_)
    assert refusal.value.argument == argument
