"""Noise calibration of NoiseCluster: the analytic Gaussian mechanism.

Tang et al. 2022, Theorem 1; Balle and Wang 2018.

A changed label moves a record from one count of a cluster to another, so the counts change by sqrt(2).
"""

import math
from collections.abc import Callable

from scipy.special import log_ndtr

from ostraka.common.privacy.inputs import InputError

SENSITIVITY = math.sqrt(2)
"""Euclidean distance between the counts of two label sets that differ in one label."""
ROUNDING = 1e-15
"""Upper bound on the relative error of a logarithm; every result is rounded to the safe side by it."""


def noise_cluster_delta(sigma: float, epsilon: float) -> float:
    """Return the least delta at which counts with noise `sigma` records are epsilon-label-DP, rounded up.

    Tang et al. 2022, Equation 5. Raises InputError if sigma is not positive or epsilon is negative.
    """
    _check_positive("sigma", sigma)
    if not 0 <= epsilon < math.inf:
        raise InputError("epsilon", f"must be a finite number of 0 or more, is {epsilon}")
    half = SENSITIVITY / (2 * sigma)
    shift = epsilon * sigma / SENSITIVITY
    log_likely = float(log_ndtr(half - shift))
    log_unlikely = epsilon + float(log_ndtr(-half - shift))
    error = ROUNDING * (1 - log_likely + abs(log_unlikely) + 2 * epsilon)
    return math.exp(log_likely) * (error - math.expm1(min(0.0, log_unlikely - log_likely)))


def noise_cluster_sigma(epsilon: float, delta: float) -> float:
    """Return the least sigma, in records, for an (epsilon, delta)-label-DP release of clusters, rounded up.

    Raises InputError if epsilon is not positive or delta is outside (0, 1).
    """
    _check_positive("epsilon", epsilon)
    if not 0 < delta < 1:
        raise InputError("delta", f"must lie between 0 and 1, is {delta}")
    return _least(lambda sigma: noise_cluster_delta(sigma, epsilon) <= delta)


def _least(enough: Callable[[float], bool]) -> float:
    """Return the least positive value that is enough, by bisection; `enough` must be monotonic."""
    low = high = 1.0
    while not enough(high):
        low = high
        high *= 2
    while enough(low):
        high = low
        low /= 2
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return high
        low, high = (low, middle) if enough(middle) else (middle, high)


def _check_positive(name: str, value: float) -> None:
    if not 0 < value < math.inf:
        raise InputError(name, f"must be a finite number above 0, is {value}")
