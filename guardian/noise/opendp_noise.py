"""The production noise source: OpenDP's exact samplers and the system's random bytes."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian, make_laplace
from opendp.metrics import l1_distance, l2_distance
from opendp.mod import enable_features

from guardian.noise.largest import largest_gaussian
from guardian.noise.lattice import lattice_scale

enable_features("contrib")

_INT64 = np.iinfo(np.int64)


class OpenDpNoise:
    """Exact discrete noise (Canonne, Kamath and Steinke 2020), drawn in batches by OpenDP.

    OpenDP reads the scale as the exact rational that the float is, draws from OpenSSL's generator, and lets
    other threads run meanwhile. About 0.1 million Gaussians a second on one core.
    """

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return int64 noise of `shape`, discrete Gaussian of scale sigma * 2^16.

        Raises ValueError where sigma is not a finite number above 0.
        """
        space = vector_domain(atom_domain(T="i64")), l2_distance(T=float)
        return _drawn(make_gaussian(*space, scale=lattice_scale(sigma)), shape)

    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return int64 noise of `shape`, discrete Laplace of scale * 2^16: P(x) ~ e^(-|x|/(scale 2^16)).

        Raises ValueError where the scale is not a finite number above 0.
        """
        space = vector_domain(atom_domain(T="i64")), l1_distance(T="i64")
        return _drawn(make_laplace(*space, scale=lattice_scale(scale)), shape)

    def largest_gaussian(self, sigma: float, counts: ArrayLike) -> NDArray[np.int64]:
        """Return for every m of `counts` the largest of m draws of `gaussian(sigma)`, int64 of its shape.

        Counts are integers of any size. The m draws are not made, see `guardian.noise.largest`; what lies
        beyond int64 is its nearest end, as in `gaussian`.

        Raises ValueError where sigma is not a finite number above 0, or a count no whole number above 0.
        """
        scale, wanted = lattice_scale(sigma), np.asarray(counts, dtype=object)
        for index, count in np.ndenumerate(wanted):
            if not isinstance(count, int) or count < 1:
                raise ValueError(f"counts: must be whole numbers above 0, is {count} at index {index}")
        largest = (largest_gaussian(scale, count) for count in wanted.flat)
        limited = [min(max(x, _INT64.min), _INT64.max) for x in largest]
        return np.array(limited, dtype=np.int64).reshape(wanted.shape)

    def uniform(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        """Return uint64 values of `shape` from the operating system's generator."""
        return np.frombuffer(secrets.token_bytes(8 * math.prod(shape)), dtype=np.uint64).reshape(shape)


def _drawn(measure: Callable[[list[int]], list[int]], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Noise alone: what `measure` adds to zeros."""
    size = math.prod(shape)
    return np.array(measure([0] * size) if size else [], dtype=np.int64).reshape(shape)
