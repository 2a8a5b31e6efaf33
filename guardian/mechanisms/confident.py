"""Confident GNMax: a noisy check of the largest count, then GNMax (002, Algorithm 1)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from common.mechanism import Confident
from common.sharing.fixed_point import FRACTION_BITS
from common.sharing.ring import Ring, RingArray
from guardian.mechanisms.answers import Answers
from guardian.mechanisms.gnmax import noisy_argmax
from guardian.noise.source import NoiseSource

_LOWEST, _HIGHEST = -(2.0**46), 2.0**47


def confident(sums: RingArray, mechanism: Confident, noise: NoiseSource, ring: Ring) -> Answers:
    """Answer the queries of `sums`, ring values (Q, k), that pass the check.

    Check and argmax are computed for every query, so that time says nothing about the outcome.
    """
    passed = passes(sums, mechanism.threshold, mechanism.sigma1, noise, ring)
    labels = noisy_argmax(sums, mechanism.sigma2, noise, ring)
    return Answers(passed, np.where(passed, labels, -1))


def passes(
    sums: RingArray, threshold: float, sigma: float, noise: NoiseSource, ring: Ring
) -> NDArray[np.bool_]:
    """Return where max_j |n_j| + N(0, sigma^2) >= threshold, |.| being the ring's circular distance.

    One vote moves the distance of a count by at most one whatever offset the sum carries, so the largest
    may be taken before the noise. The threshold (votes) is rounded up to the lattice, which changes no
    outcome, and kept where subtracting a distance of at most 2^62 cannot overflow.
    """
    largest = ring.distance(sums).max(axis=1)
    steps = math.ceil(math.ldexp(min(max(threshold, _LOWEST), _HIGHEST), FRACTION_BITS))
    needed = np.int64(min(steps, 2**63 - 1))
    passed: NDArray[np.bool_] = noise.gaussian(sigma, largest.shape) >= needed - largest
    return passed
