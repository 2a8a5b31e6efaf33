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

_FARTHEST = 2**62


def passes(
    sums: RingArray, threshold: float, sigma: float, noise: NoiseSource, ring: Ring
) -> NDArray[np.bool_]:
    """Return where max_j |n_j| + N(0, sigma^2) >= threshold, one check (Q,) for each row of `sums` (Q, k).

    |.| is the circular distance; threshold and sigma are in votes (002, Algorithm 1).
    """
    largest = ring.distance(sums).max(axis=1)
    return reaches(largest, in_steps(threshold), sigma, noise)


def passes_per_label(
    positives: RingArray, totals: NDArray[np.int64], check: Check, noise: NoiseSource, ring: Ring
) -> NDArray[np.bool_]:
    """Return where max(|V|, |n - V|) + N(0, sigma^2) >= threshold, a check (Q, k) for each of `positives`.

    |.| is the circular distance and n the weight of all votes, `totals` (Q,) in lattice steps, so a label
    passes when the votes for it or the votes against it are many (000, Algorithm 2).
    """
    negatives = ring.wrap(totals)[:, None] - positives
    larger = np.maximum(ring.distance(positives), ring.distance(negatives))
    return reaches(larger, in_steps(check.threshold), check.sigma, noise)


def reaches(values: NDArray[np.int64], needed: int, sigma: float, noise: NoiseSource) -> NDArray[np.bool_]:
    """Return where `values` with noise of `sigma` votes are at least `needed`, both in lattice steps.

    Values lie within 2^62 steps of 0. What is needed is kept there too, so that their difference cannot
    overflow; no sum that fits into the ring comes so far.
    """
    left = np.int64(min(max(needed, -_FARTHEST), _FARTHEST - 1)) - values
    passed: NDArray[np.bool_] = noise.gaussian(sigma, values.shape) >= left
    return passed


def in_steps(threshold: float) -> int:
    """Return a finite threshold in votes as lattice steps, rounded up, which changes no outcome."""
    numerator, denominator = threshold.as_integer_ratio()
    return -((-numerator << FRACTION_BITS) // denominator)
