"""The accounting beside integrals of high precision, and beside the closed form of Gaussians."""

import math

import numpy as np
import pytest
from mpmath import erfc, exp, log, mp, mpf, quad, sqrt
from scipy.optimize import brentq

from ostraka.client.students.dp_sgd.guarantee import GRID, DpSgdGuarantee, Noise, calibrate, dp_sgd_words

DELTA = 1e-5


def gaussian_delta(epsilon: float, deviation: float) -> float:
    """Delta of one Gaussian release of sensitivity 1 (Balle and Wang 2018, Theorem 8)."""
    with mp.workdps(30):
        below = 1 / (2 * mpf(deviation)) - mpf(epsilon) * deviation
        above = -1 / (2 * mpf(deviation)) - mpf(epsilon) * deviation
        return float((erfc(-below / sqrt(2)) - exp(epsilon) * erfc(-above / sqrt(2))) / 2)


def sampled_delta(epsilon: float, multiplier: float, rate: float) -> float:
    """Delta of one Gaussian release of a Poisson sample, the larger of both directions, by integration."""
    with mp.workdps(30):
        scale, share, factor = mpf(multiplier), mpf(rate), exp(mpf(epsilon))

        def without(x: mpf) -> mpf:
            return exp(-(x**2) / (2 * scale**2)) / (scale * sqrt(2 * mp.pi))

        def with_record(x: mpf) -> mpf:
            return (1 - share) * without(x) + share * without(x - 1)

        # the ratio with_record / without rises in x and crosses e^epsilon, and e^-epsilon, once
        up = scale**2 * log((factor - 1 + share) / share) + mpf(1) / 2
        ends = [40 * scale, -40 * scale]
        removed = quad(lambda x: with_record(x) - factor * without(x), [up, up + 5 * scale, up + ends[0]])
        low = (1 / factor - 1 + share) / share
        if low <= 0:
            return float(removed)
        down = scale**2 * log(low) + mpf(1) / 2
        added = quad(lambda x: without(x) - factor * with_record(x), [down + ends[1], down - 5 * scale, down])
        return float(max(removed, added))


@pytest.mark.parametrize(("multiplier", "steps"), [(1.0, 1), (20.0, 400)])
def test_without_sampling_it_is_one_gaussian(multiplier: float, steps: int) -> None:
    epsilon = Noise(multiplier, 1.0, steps).epsilon(DELTA)
    exact = gaussian_delta(epsilon, multiplier / math.sqrt(steps))
    assert 0.995 * DELTA < exact <= DELTA


@pytest.mark.heavy
@pytest.mark.parametrize(("multiplier", "rate"), [(0.8, 0.1), (2.0, 0.5), (1.0, 0.01)])
def test_one_sampled_step_is_its_integral(multiplier: float, rate: float) -> None:
    epsilon = Noise(multiplier, rate, 1).epsilon(DELTA)
    assert 0.99 * DELTA < sampled_delta(epsilon, multiplier, rate) <= DELTA


@pytest.mark.parametrize(("epsilon", "steps"), [(0.5, 100), (8.0, 400)])
def test_calibrated_noise_is_enough_and_hardly_more(epsilon: float, steps: int) -> None:
    noise = calibrate(epsilon, DELTA, 1.0, steps)
    least = math.sqrt(steps) * float(brentq(lambda s: gaussian_delta(epsilon, s) - DELTA, 0.1, 100))
    assert least <= noise.multiplier < 1.02 * least


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("epsilon", "rate", "steps"),
    [
        (0.01, 1.0, 1),
        (0.1, 0.5, 400),
        (1.0, 1e-3, 2000),
        (8.0, 1 / 11, 400),
        (100.0, 0.25, 400),
    ],
)
def test_a_training_stays_within_epsilon_on_a_finer_grid_too(epsilon: float, rate: float, steps: int) -> None:
    noise = calibrate(epsilon, DELTA, rate, steps)
    spent = noise.epsilon(DELTA, grid=GRID * epsilon)
    assert 0.95 * epsilon < spent <= epsilon
    assert noise.epsilon(DELTA, grid=GRID * epsilon / 4) <= spent * (1 + 1e-9)
    assert noise.epsilon_by_moments(DELTA) >= noise.epsilon(DELTA, grid=GRID * epsilon / 4)


@pytest.mark.heavy
def test_less_epsilon_takes_more_noise() -> None:
    assert calibrate(0.5, DELTA, 0.1, 30).multiplier > calibrate(3.0, DELTA, 0.1, 30).multiplier


def test_the_epsilon_told_is_rounded_up_and_never_above_what_was_asked() -> None:
    noise = Noise(20.0, 1.0, 400)
    spent = noise.epsilon(DELTA, grid=GRID * 5)
    told = DpSgdGuarantee.of(noise, 5.0, DELTA, 1.0)
    assert spent <= told.epsilon < spent + 1e-4
    assert np.isclose(told.epsilon * 10_000, round(told.epsilon * 10_000))
    assert DpSgdGuarantee.of(noise, 4.0, DELTA, 1.0).epsilon > 4.3
    assert f"epsilon {told.epsilon:g} at delta 1e-5" in dp_sgd_words(vars(told))
