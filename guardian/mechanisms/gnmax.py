"""GNMax: argmax_j n_j + N(0, sigma^2) (002, section 3.1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from common.mechanism import GnMax
from common.sharing.ring import Ring, RingArray
from guardian.mechanisms.answers import Answers
from guardian.noise.source import NoiseSource


def gnmax(sums: RingArray, mechanism: GnMax, noise: NoiseSource, ring: Ring) -> Answers:
    """Answer every query of `sums`, ring values (Q, k)."""
    labels = noisy_argmax(sums, mechanism.sigma, noise, ring)
    return Answers(np.ones(len(labels), dtype=np.bool_), labels)


def noisy_argmax(sums: RingArray, sigma: float, noise: NoiseSource, ring: Ring) -> NDArray[np.int64]:
    """Return the class (Q,) with the largest noisy count, ties broken uniformly.

    Noise goes in before the ring is lifted: whatever offset a sum carries, a class then wins by its
    noise, and the outcome of one vote moved obeys the worst case.
    """
    noisy = ring.lift(sums + ring.wrap(noise.gaussian(sigma, sums.shape)))
    keys = noise.uniform(sums.shape)
    leading = noisy == noisy.max(axis=1, keepdims=True)
    labels: NDArray[np.int64] = np.where(leading, keys | np.uint64(1), np.uint64(0)).argmax(axis=1)
    return labels
