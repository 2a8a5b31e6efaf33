"""The estimate of a regression's risk, against the risk itself."""

import math

import numpy as np

from ostraka.client.learners.penalty import (
    PENALTIES,
    Fold,
    PoolCovariance,
    choose_penalty_by_pool,
    estimate_risks,
    pool_covariance,
)
from ostraka.client.learners.regression import Moments, ridge

SURE = 6.2
"""Deviations that a mean is within but for a probability below 1e-9."""


def test_the_estimate_of_the_risk_is_unbiased() -> None:
    random = np.random.default_rng(0)
    A, held_out = (M.T @ M / 40 for M in random.normal(size=(2, 40, 5)))
    truth = random.normal(size=(5, 2))
    mean = A @ truth
    sigma = 0.3
    penalties = np.array([0.01, 0.1, 1.0])
    differences = []
    for _ in range(800):
        noisy = mean + random.normal(0, sigma, mean.shape)
        estimated = estimate_risks(Moments(noisy, sigma**2, 0.0, 1.0), A, held_out, A, penalties)
        solutions = [ridge(A, noisy, penalty) for penalty in penalties]
        actual = [float(np.trace(W.T @ held_out @ W) - 2 * np.trace(W.T @ mean)) for W in solutions]
        differences.append(estimated - actual)
    found = np.array(differences)
    error = found.std(axis=0) / math.sqrt(len(found))
    assert (np.abs(found.mean(axis=0)) < SURE * error).all()


def test_noise_that_would_explain_more_than_all_of_the_labels_is_penalised_away() -> None:
    U = np.random.default_rng(1).normal(size=(100, 8)) * np.geomspace(1, 1e-3, 8)
    pool = pool_covariance(U)
    top = float(np.linalg.eigvalsh(pool.whole)[-1])
    # Moments so large by chance that the estimated risk falls with every smaller penalty.
    moments = Moments(pool.whole @ np.full((8, 1), 50.0), 0.01, 0.0, second_moment=1.0)
    chosen = choose_penalty_by_pool(moments, pool, lambda covariance: covariance)
    w = np.linalg.eigvalsh(pool.whole)
    assert moments.noise * (1 / (w + chosen)).sum() <= moments.second_moment
    assert chosen > PENALTIES[0] * top


def test_the_penalty_is_at_least_a_record_of_the_pool_worth() -> None:
    U = np.random.default_rng(2).normal(size=(20, 8))
    A = U.T @ U / 20
    # Folds that are all alike, and moments without any error, of which the least penalty is the best.
    pool = PoolCovariance(A, (Fold(A, A),) * 4, 20)
    moments = Moments(A @ np.ones((8, 1)), 0.0, 0.0, second_moment=1.0)
    chosen = choose_penalty_by_pool(moments, pool, lambda covariance: covariance)
    assert 1 <= chosen / (np.trace(A) / 20) < 2


def test_a_rare_class_takes_the_largest_penalty_that_noise_may_hide() -> None:
    random = np.random.default_rng(6)
    pool = pool_covariance(random.normal(size=(200, 6)) * np.geomspace(1, 0.1, 6))
    mean = pool.whole @ np.ones((6, 1))
    noisy = Moments(mean + random.normal(0, 0.05, (6, 1)), 0.05**2, 0.0, second_moment=10.0)
    exact = Moments(mean, 0.0, 0.0, second_moment=10.0)
    with_noise, without = (
        [
            choose_penalty_by_pool(moments, pool, lambda covariance: covariance, rare=rare)
            for rare in (False, True)
        ]
        for moments in (noisy, exact)
    )
    assert with_noise[1] > with_noise[0]
    assert without[1] == without[0]
