import math

import mpmath
import numpy as np
import pytest

from ostraka.client.students.label_dp.calibrate import noise_cluster_delta, noise_cluster_sigma
from ostraka.common.privacy import ORDERS, epsilon
from ostraka.common.privacy.inputs import InputError

EPSILONS = (1e-6, 0.003, 0.02, 0.5, 1.0, 4.0, 30.0, 500.0)
DELTAS = (1e-12, 1e-5, 0.1, 0.9)


def exact_delta(sigma: float, epsilon: float) -> mpmath.mpf:
    """Tang et al. 2022, Equation 5, in 80 digits."""
    with mpmath.workdps(80):
        sensitivity, sigma, epsilon = mpmath.sqrt(2), mpmath.mpf(sigma), mpmath.mpf(epsilon)
        half, shift = sensitivity / (2 * sigma), epsilon * sigma / sensitivity
        return mpmath.ncdf(half - shift) - mpmath.exp(epsilon) * mpmath.ncdf(-half - shift)


@pytest.mark.parametrize("at", EPSILONS)
@pytest.mark.parametrize("sigma", [0.05, 0.5, 3.0, 80.0, 1e4])
def test_delta_is_equation_5_rounded_up(at: float, sigma: float) -> None:
    exact, found = exact_delta(sigma, at), noise_cluster_delta(sigma, at)
    if exact < 1e-300:
        assert found < 1e-290
    else:
        assert exact <= found <= exact * (1 + 1e-4)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("at", EPSILONS)
def test_sigma_is_enough_and_hardly_less_is(at: float, delta: float) -> None:
    sigma = noise_cluster_sigma(at, delta)
    assert exact_delta(sigma, at) <= delta
    assert exact_delta(sigma * (1 - 1e-4), at) > delta


@pytest.mark.parametrize("at", [0.02, 0.5, 2.0])
def test_sigma_is_what_a_brute_search_finds(at: float) -> None:
    """The hockey-stick divergence itself, by summing the two densities along the direction that moves."""
    found = noise_cluster_sigma(at, 1e-5)
    candidates = found * np.arange(0.9, 1.1, 0.001)
    enough = [sigma for sigma in candidates if _divergence(sigma, at) <= 1e-5]
    assert min(enough) == pytest.approx(found, rel=0.0011)


def _divergence(sigma: float, at: float) -> float:
    z = np.linspace(-14 * sigma, 14 * sigma, 20_001)
    likely, unlikely = (
        np.exp(-((z - centre) ** 2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))
        for centre in (0.0, math.sqrt(2))
    )
    return float(np.maximum(likely - math.exp(at) * unlikely, 0).sum() * (z[1] - z[0]))


@pytest.mark.parametrize("at", [0.5, 1.0, 4.0])
def test_it_is_tighter_than_what_a_ledger_charges(at: float) -> None:
    sigma = noise_cluster_sigma(at, 1e-5)
    charged = epsilon([order / sigma**2 for order in ORDERS], ORDERS, 1e-5)
    assert at < charged < 1.3 * at


@pytest.mark.parametrize(
    ("sigma", "at", "delta", "name"),
    [(0.0, 1.0, 0.1, "sigma"), (1.0, -1.0, 0.1, "epsilon"), (math.nan, 1.0, 0.1, "sigma")],
)
def test_delta_refuses_what_makes_no_sense(sigma: float, at: float, delta: float, name: str) -> None:
    with pytest.raises(InputError, match=name):
        noise_cluster_delta(sigma, at)


@pytest.mark.parametrize(("at", "delta"), [(0.0, 0.1), (math.inf, 0.1), (1.0, 0.0), (1.0, 1.0)])
def test_sigma_refuses_what_no_noise_gives(at: float, delta: float) -> None:
    with pytest.raises(InputError):
        noise_cluster_sigma(at, delta)
