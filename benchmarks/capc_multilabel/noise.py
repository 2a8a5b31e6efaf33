"""Noise that a seed reproduces: for measurements, never for a release."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostraka.guardian.noise import lattice_scale


@dataclass(frozen=True)
class RepeatableNoise:
    """Draws from a NumPy generator instead of the guardian's, rounded to the lattice of the ring."""

    random: np.random.Generator

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return rounded Gaussians of `sigma` votes."""
        return np.rint(lattice_scale(sigma) * self.random.standard_normal(shape)).astype(np.int64)

    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return rounded Laplace noise of `scale` votes."""
        return np.rint(self.random.laplace(0, lattice_scale(scale), shape)).astype(np.int64)

    def uniform(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        """Return uniform 64-bit integers."""
        return self.random.integers(2**64, size=shape, dtype=np.uint64)
