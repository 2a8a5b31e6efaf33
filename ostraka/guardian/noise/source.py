"""Interface of a mechanism's noise source."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class NoiseSource(Protocol):
    """Independent cryptographic draws; every call draws afresh. Noise is in lattice steps of 2^-16 vote."""

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return independent discrete Gaussians of scale `sigma` votes."""
        ...

    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return independent draws of discrete Laplace noise of `scale` votes, P(x) ~ e^(-|x|/scale)."""
        ...

    def uniform(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        """Return independent integers, uniform over all 64-bit values."""
        ...
