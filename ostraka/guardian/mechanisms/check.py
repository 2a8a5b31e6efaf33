"""Noisy checks: is a count far enough from 0 to be answered?

Checks look at circular distances, which one vote moves by at most one, for any offset of a ring sum. So the
largest distance may be taken before the noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import Check
from ostraka.common.noise.source import NoiseSource
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sharing.modulus import Modulus, RingArray

_FARTHEST = 2**62
"""The largest circular distance in the widest ring, of 64 bits."""


def passes(
    sums: RingArray, threshold: float, sigma: float, noise: NoiseSource, ring: Modulus
) -> NDArray[np.bool_]:
    """Return where max_j |n_j| + N(0, sigma^2) >= threshold, one check (Q,) for each row of `sums` (Q, k).

    |.| is the circular distance; threshold and sigma are in votes (Papernot et al. 2018, Algorithm 1).
    """
    largest = ring.distance(sums).max(axis=1)
    return reaches(largest, threshold_steps(threshold), sigma, noise)


def passes_per_label(
    positives: RingArray, totals: NDArray[np.int64], check: Check, noise: NoiseSource, ring: Modulus
) -> NDArray[np.bool_]:
    """Return where max(|V|, |n - V|) + N(0, sigma^2) >= threshold, a check (Q, k) for each of `positives`.

    |.| is the circular distance and n the weight of all votes, `totals` (Q, k) in lattice steps. A label
    passes when the votes for it or the votes against it are many (Dziedzic et al. 2023, Algorithm 2).
    """
    negatives = ring.subtract(ring.wrap(totals), positives)
    larger = np.maximum(ring.distance(positives), ring.distance(negatives))
    return reaches(larger, threshold_steps(check.threshold), check.sigma, noise)


def reaches(
    distances: NDArray[np.int64], needed: NDArray[np.int64] | np.int64, sigma: float, noise: NoiseSource
) -> NDArray[np.bool_]:
    """Return where `distances` with noise of `sigma` votes are at least `needed`, both in lattice steps."""
    passed: NDArray[np.bool_] = noise.gaussian(sigma, distances.shape) >= needed - distances
    return passed


def threshold_steps(threshold: float) -> np.int64:
    """Return a threshold in lattice steps, cut at the largest distance, 2^62.

    Subtracting a distance, or adding the votes of a query, then cannot overflow.
    """
    return np.int64(min(max(in_steps(threshold), -_FARTHEST), _FARTHEST + 1))


def in_steps(threshold: float) -> int:
    """Return a finite threshold in votes as lattice steps; rounding up changes no outcome."""
    numerator, denominator = threshold.as_integer_ratio()
    return -((-numerator << FRACTION_BITS) // denominator)
