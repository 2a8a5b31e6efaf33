"""Confident GNMax: a noisy check of the largest count, then GNMax (002, Algorithm 1)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common.plan import Confident
from common.sharing.ring import Ring
from guardian.mechanisms.answers import Answers
from guardian.mechanisms.gnmax import noisy_argmax
from guardian.noise.lattice import FRACTION_BITS
from guardian.noise.source import NoiseSource

_FARTHEST = 2**62


def confident(sums: NDArray[Any], mechanism: Confident, noise: NoiseSource, ring: Ring) -> Answers:
    """Answer the queries of `sums`, ring values (Q, k), that pass the check.

    Check and argmax are computed for every query, so that time says nothing about the outcome.
    """
    passed = passes(sums, mechanism.threshold, mechanism.sigma1, noise, ring)
    labels = noisy_argmax(sums, mechanism.sigma2, noise, ring)
    return Answers(passed, np.where(passed, labels, -1))


def passes(
    sums: NDArray[Any], threshold: float, sigma: float, noise: NoiseSource, ring: Ring
) -> NDArray[np.bool_]:
    """Return where max_j |n_j| + N(0, sigma^2) >= threshold, |.| being the ring's circular distance.

    One vote moves the distance of a count by at most one whatever offset the sum carries, so the largest
    may be taken before the noise. The threshold (votes) is rounded up to the lattice, which changes no
    outcome, and kept within 2^62 so that nothing overflows.
    """
    largest = ring.distance(sums).max(axis=1)
    steps = math.ceil(math.ldexp(threshold, FRACTION_BITS))
    needed = np.int64(min(max(steps, -_FARTHEST), _FARTHEST))
    return noise.gaussian(sigma, largest.shape) >= needed - largest
