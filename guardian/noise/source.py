"""What a mechanism asks of its randomness."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class NoiseSource(Protocol):
    """Independent cryptographic draws; every call draws afresh."""

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return independent discrete Gaussians of `sigma` votes, in lattice steps of 2^-16 vote."""
        ...

    def uniform(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        """Return independent integers, uniform over all 64-bit values."""
        ...
