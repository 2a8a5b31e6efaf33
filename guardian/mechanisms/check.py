"""Noisy checks: is a count far enough from 0 to be answered?

Checks look at circular distances, which one vote moves by at most one whatever offset a ring sum carries.
So the largest distance may be taken before the noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from common.mechanism import Check
from common.sharing.fixed_point import FRACTION_BITS
from common.sharing.ring import Ring, RingArray
from guardian.noise.source import NoiseSource

_LEAST, _MOST = -(2**62), 2**63 - 1


def passes(
    sums: RingArray, threshold: float, sigma: float, noise: NoiseSource, ring: Ring
) -> NDArray[np.bool_]:
    """Return where max_j |n_j| + N(0, sigma^2) >= threshold, one check (Q,) for each row of `sums` (Q, k).

    |.| is the circular distance; threshold and sigma are in votes (002, Algorithm 1).
    """
    largest = ring.distance(sums).max(axis=1)
    return reaches(largest, in_steps(threshold), sigma, noise)


def passes_per_label(
    positives: RingArray, teachers: int, check: Check, noise: NoiseSource, ring: Ring
) -> NDArray[np.bool_]:
    """Return where max(|V|, |n - V|) + N(0, sigma^2) >= threshold, a check (Q, k) for each of `positives`.

    |.| is the circular distance and n the number of `teachers`, so a label passes when the votes for it or
    the votes against it are many (000, Algorithm 2).
    """
    negatives = ring.wrap(np.array(teachers << FRACTION_BITS)) - positives
    larger = np.maximum(ring.distance(positives), ring.distance(negatives))
    return reaches(larger, in_steps(check.threshold), check.sigma, noise)


def reaches(distances: NDArray[np.int64], needed: int, sigma: float, noise: NoiseSource) -> NDArray[np.bool_]:
    """Return where `distances` with noise of `sigma` votes are at least `needed`, both in lattice steps.

    What is needed is kept where subtracting a distance of at most 2^62 cannot overflow; no draw is so large
    that this changes an outcome.
    """
    left = np.int64(min(max(needed, _LEAST), _MOST)) - distances
    passed: NDArray[np.bool_] = noise.gaussian(sigma, distances.shape) >= left
    return passed


def in_steps(threshold: float) -> int:
    """Return a finite threshold in votes as lattice steps, rounded up, which changes no outcome."""
    numerator, denominator = threshold.as_integer_ratio()
    return -((-numerator << FRACTION_BITS) // denominator)
