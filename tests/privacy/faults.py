"""Noise with planted faults, which the audit must find."""

import numpy as np
from numpy.typing import NDArray

from ostraka.guardian.noise import OpenDpNoise


class Narrow(OpenDpNoise):
    """Noise scaled by 0.8: the worst case still holds, so that only the exact probabilities tell."""

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return super().gaussian(0.8 * sigma, shape)

    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return super().laplace(0.8 * scale, shape)


class Shared(OpenDpNoise):
    """The same draw on every coordinate of a query (Mühl and Boenisch 2022, Definition 9 as written)."""

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return np.broadcast_to(super().gaussian(sigma, _a_query(shape)), shape)

    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return np.broadcast_to(super().laplace(scale, _a_query(shape)), shape)


def _a_query(shape: tuple[int, ...]) -> tuple[int, ...]:
    """One draw for a query: queries are the last axis but one, or the only one."""
    return shape if len(shape) == 1 else (shape[-2], 1)
