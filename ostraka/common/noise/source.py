"""Interface of a mechanism's noise source, and the lattice that votes, thresholds and noise share."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ostraka.common.sharing import FRACTION_BITS

LATTICE = 2.0**-FRACTION_BITS
"""One lattice step, in votes."""


def lattice_scale(sigma: float) -> float:
    """Return `sigma` votes in lattice steps; exact, because a step is a power of two.

    Raises ValueError if sigma is not a finite number above 0.
    """
    if not 0 < sigma < math.inf:
        raise ValueError(f"sigma: must be a finite number above 0, is {sigma}")
    return math.ldexp(sigma, FRACTION_BITS)


class NoiseSource(Protocol):
    """Independent cryptographic draws, new in every call. Noise is in lattice steps of 2^-16 vote."""

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return independent discrete Gaussians of scale `sigma` votes."""
        ...

    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return independent draws of discrete Laplace noise of `scale` votes, P(x) ~ e^(-|x|/scale)."""
        ...

    def uniform(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        """Return independent integers, uniform over all 64-bit values."""
        ...
