"""Weighted sums of logarithms under linear limits: always feasible, and near another solver's optimum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.numerics.interior_point import largest_log_sum


def problem(seed: int, rows: int, n: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return weights, limits, low and high of five problems in which w = 1 keeps all limits."""
    draws = np.random.default_rng(seed)
    weights = draws.dirichlet(np.full(n, 0.5), 5)
    limits = draws.gamma(0.3, size=(5, rows, n)) * 10.0 ** draws.integers(-20, 1, (5, rows, n))
    limits /= np.maximum(limits.sum(axis=2), 1e-300).max(axis=1)[:, None, None] * draws.choice([1.0, 3.0])
    low = draws.choice([0.0, 1e-6, 0.3, 1.0], (5, n))
    return weights, limits, low, 1 + draws.choice([0.0, 0.5, 1e6], (5, n))


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 6))
@settings(deadline=None, max_examples=60)
def test_it_keeps_every_limit_and_loses_nothing(seed: int, rows: int, n: int) -> None:
    weights, limits, low, high = problem(seed, rows, n)
    w = largest_log_sum(weights, limits, low, high)
    assert ((low <= w) & (w <= high)).all()
    assert ((limits @ w[:, :, None]) <= 1 + 1e-15).all()
    assert ((weights * np.log(w)).sum(axis=1) >= 0).all()


@pytest.mark.parametrize("seed", range(6))
def test_it_comes_near_the_optimum(seed: int) -> None:
    draws = np.random.default_rng(seed)
    weights, limits = draws.dirichlet(np.ones(4), 1), draws.random((1, 8, 4))
    limits /= limits.sum(axis=2).max()
    low, high = np.full((1, 4), 0.05), np.full((1, 4), 3.0)
    w = largest_log_sum(weights, limits, low, high)
    best = minimize(
        lambda x: -(weights[0] * np.log(x)).sum(),
        np.full(4, 0.5),
        bounds=[(0.05, 3.0)] * 4,
        constraints=[{"type": "ineq", "fun": lambda x: 1 - limits[0] @ x}],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert (weights * np.log(w)).sum() == pytest.approx(-best.fun, rel=1e-4, abs=1e-7)


def test_limits_that_are_broken_at_the_start_or_no_numbers_leave_everything_as_it_is() -> None:
    weights, low, high = np.full((3, 2), 0.5), np.zeros((3, 2)), np.full((3, 2), 2.0)
    limits = np.array([[[0.6, 0.6]], [[np.nan, 0.1]], [[np.inf, 0.0]]])
    w = largest_log_sum(weights, limits, low, high)
    assert (w[1:] == 1).all()
    assert (limits[0] @ w[0] <= 1).all() or (w[0] == 1).all()
