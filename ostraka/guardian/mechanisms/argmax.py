"""The largest noisy count of each query."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostraka.common.noise.source import NoiseSource
from ostraka.common.sharing.modulus import Modulus, RingArray


def noisy_argmax(
    sums: RingArray, draws: NDArray[np.int64], noise: NoiseSource, ring: Modulus
) -> NDArray[np.int64]:
    """Return the column (Q, 1) with the largest noisy count, ties broken uniformly.

    `sums` are ring values and `draws` lattice steps of noise, both (Q, k). Sums are folded first. Then, for
    any offset of a sum, a vote moves it by at most its weight and no noisy count wraps around the ring, as
    the worst case requires (docs/accounting-argmax.md).
    """
    noisy = ring.lift(ring.add(ring.fold(sums), ring.wrap(draws)))
    keys = noise.uniform(sums.shape)
    leading = noisy == noisy.max(axis=1, keepdims=True)
    # Odd keys exceed the 0 of classes that do not lead, for any draw.
    winners: NDArray[np.int64] = np.where(leading, keys | np.uint64(1), np.uint64(0)).argmax(axis=1)
    return winners[:, None]
