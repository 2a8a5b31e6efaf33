"""The production noise source: OpenDP's exact sampler and the system's random bytes."""

from __future__ import annotations

import math
import secrets

import numpy as np
import opendp.prelude as dp
from numpy.typing import NDArray

from guardian.noise.lattice import lattice_scale

dp.enable_features("contrib")


class OpenDpNoise:
    """Exact discrete Gaussians (Canonne, Kamath and Steinke 2020) drawn in batches by OpenDP.

    OpenDP reads the scale as the exact rational that the float is, and draws from OpenSSL's generator.
    About 0.1 million draws a second on one core.
    """

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return int64 noise of `shape`, discrete Gaussian of scale sigma * 2^16."""
        size = math.prod(shape)
        if size == 0:
            return np.zeros(shape, dtype=np.int64)
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
        draw = dp.m.make_gaussian(*space, scale=lattice_scale(sigma))
        return np.array(draw([0] * size), dtype=np.int64).reshape(shape)

    def uniform(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        """Return uint64 values of `shape` from the operating system's generator."""
        return np.frombuffer(secrets.token_bytes(8 * math.prod(shape)), dtype=np.uint64).reshape(shape)
