"""GNMax: argmax_j n_j + N(0, sigma^2) (002, section 3.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from common.plan import GnMax
from common.sharing.ring import Ring
from guardian.mechanisms.answers import Answers
from guardian.noise.source import NoiseSource


def gnmax(sums: NDArray[Any], mechanism: GnMax, noise: NoiseSource, ring: Ring) -> Answers:
    """Answer every query of `sums`, ring values (Q, k)."""
    labels = noisy_argmax(sums, mechanism.sigma, noise, ring)
    return Answers(np.ones(len(labels), dtype=np.bool_), labels)


def noisy_argmax(sums: NDArray[Any], sigma: float, noise: NoiseSource, ring: Ring) -> NDArray[np.int64]:
    """Return the class (Q,) with the largest noisy count, ties broken uniformly.

    Noise goes in before the ring is lifted: whatever offset a sum carries, a class then wins by its
    noise, and the outcome of one vote moved obeys the worst case.
    """
    noisy = ring.lift(sums + noise.gaussian(sigma, sums.shape).astype(ring.dtype))
    keys = noise.uniform(sums.shape)
    leading = noisy == noisy.max(axis=1, keepdims=True)
    return np.where(leading, keys | np.uint64(1), np.uint64(0)).argmax(axis=1)
