"""OpenDP's exact samplers, for policies that require a vetted one, and as the oracle of tests."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian, make_laplace
from opendp.metrics import l1_distance, l2_distance
from opendp.mod import enable_features

from ostraka.common.noise.source import lattice_scale

enable_features("contrib")


class OpenDpNoise:
    """Exact discrete noise (Canonne, Kamath and Steinke 2020), drawn in batches by OpenDP.

    OpenDP reads the scale as the exact rational value of the float, draws from OpenSSL's generator, and lets
    other threads run meanwhile. About 0.1 million Gaussians a second on one core.
    """

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return int64 noise of `shape`, discrete Gaussian of scale sigma * 2^16.

        Raises ValueError if sigma is not a finite number above 0.
        """
        space = vector_domain(atom_domain(T="i64")), l2_distance(T=float)
        return _draw(make_gaussian(*space, scale=lattice_scale(sigma)), shape)

    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return int64 noise of `shape`, discrete Laplace of scale * 2^16: P(x) ~ e^(-|x|/(scale 2^16)).

        Raises ValueError if the scale is not a finite number above 0.
        """
        space = vector_domain(atom_domain(T="i64")), l1_distance(T="i64")
        return _draw(make_laplace(*space, scale=lattice_scale(scale)), shape)

    def uniform(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        """Return uint64 values of `shape` from the operating system's generator."""
        return np.frombuffer(secrets.token_bytes(8 * math.prod(shape)), dtype=np.uint64).reshape(shape)


def _draw(measure: Callable[[list[int]], list[int]], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Noise only: what `measure` adds to zeros."""
    size = math.prod(shape)
    return np.array(measure([0] * size) if size else [], dtype=np.int64).reshape(shape)
