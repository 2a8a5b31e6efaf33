"""Bounds on what anybody can guess of one record, against mechanisms whose epsilon is known exactly."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from ostraka.common.privacy.guessing import best_guess, most_detected
from ostraka.common.privacy.inputs import InputError

ALARMS = np.linspace(0.0, 1.0, 101)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 3.0])
def test_randomized_response_attains_both(epsilon: float) -> None:
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert best_guess(epsilon, 0.0) == pytest.approx(truth, rel=1e-12)
    # The test that believes the answer.
    assert most_detected(epsilon, 0.0, 1 - truth) == pytest.approx(truth, rel=1e-12)


@pytest.mark.parametrize("mean", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_no_test_of_a_gaussian_does_better(mean: float, epsilon: float) -> None:
    # Balle and Wang 2018, theorem 8: the least delta; the best tests compare with a threshold.
    delta = norm.cdf(mean / 2 - epsilon / mean) - math.exp(epsilon) * norm.cdf(-mean / 2 - epsilon / mean)
    powers = norm.sf(norm.isf(ALARMS) - mean)
    bounds = np.array([most_detected(epsilon, delta, alarms) for alarms in ALARMS])
    assert np.all(powers <= bounds + 1e-12)
    assert norm.cdf(mean / 2) <= best_guess(epsilon, delta) + 1e-12
    # And one of them attains it, so that a smaller bound would be wrong.
    touching = norm.sf(epsilon / mean + mean / 2)
    assert most_detected(epsilon, delta, touching) == pytest.approx(norm.sf(epsilon / mean - mean / 2))


def test_no_privacy_hides_nothing_and_all_of_it_hides_everything() -> None:
    assert (best_guess(1e6, 0.0), most_detected(1e6, 0.0, 0.05)) == (1.0, 1.0)
    assert (best_guess(0.0, 0.0), most_detected(0.0, 0.0, 0.05)) == (0.5, 0.05)
    assert most_detected(1e6, 1e-5, 0.0) == 1e-5


@pytest.mark.parametrize(
    ("values", "argument"),
    [
        ((-1.0, 0.0, 0.1), "epsilon"),
        ((math.nan, 0.0, 0.1), "epsilon"),
        ((1.0, -0.1, 0.1), "delta"),
        ((1.0, 1.1, 0.1), "delta"),
        ((1.0, 0.0, 1.5), "false_alarms"),
    ],
)
def test_what_is_no_probability_is_refused(values: tuple[float, float, float], argument: str) -> None:
    with pytest.raises(InputError, match=argument):
        most_detected(*values)
