"""Labels as one-hot vectors with Laplace noise (ALIBI; Malek et al. 2021)."""

import math

import numpy as np
from numpy.typing import NDArray

from benchmarks.label_dp.data import Labels
from ostraka.guardian.noise import LATTICE, NoiseSource

Vectors = NDArray[np.float64]


def noisy_one_hot(y: Labels, classes: int, epsilon: float, noise: NoiseSource) -> Vectors:
    """Return one-hot vectors with discrete Laplace noise on every value, float64 (N, classes).

    A label moves its vector by 2 in L1, so noise of scale 2/epsilon makes each one epsilon-label-DP with
    delta 0. The scale is rounded up; ones and noise are on the same lattice.
    """
    vectors = np.zeros((len(y), classes))
    vectors[np.arange(len(y)), y] = 1
    return vectors + noise.laplace(scale_of(epsilon), vectors.shape) * LATTICE


def scale_of(epsilon: float) -> float:
    """Return the noise's scale, never below 2/epsilon."""
    return math.nextafter(2 / epsilon, math.inf)


def log_likelihoods(noisy: Vectors, epsilon: float) -> Vectors:
    """Return the log-likelihood of each noisy vector for each class, up to a constant per row.

    Only the terms of log P(vector | class) = -sum |vector - one-hot| / scale that depend on the class remain,
    (|v| - |v - 1|)/scale: two classes differ by at most epsilon.
    """
    return (np.abs(noisy) - np.abs(noisy - 1)) / scale_of(epsilon)
