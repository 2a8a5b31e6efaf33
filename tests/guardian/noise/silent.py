"""A noise source for tests that need exact sums."""

import numpy as np
from numpy.typing import NDArray

from ostraka.guardian.noise import ExactNoise


class Silent(ExactNoise):
    """No noise on any count; ties are still broken at random."""

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return np.zeros(shape, dtype=np.int64)
