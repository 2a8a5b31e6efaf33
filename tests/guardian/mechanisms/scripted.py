"""Noise that tests choose."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ostraka.common.sharing import FRACTION_BITS


class Scripted:
    """Returns the given noise (votes), call after call, and uniform values that favour one column."""

    def __init__(self, *draws: ArrayLike, favoured: int = 0) -> None:
        self.asked: list[tuple[float, tuple[int, ...]]] = []
        self._draws: Iterator[ArrayLike] = iter(draws)
        self._favoured = favoured

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        self.asked.append((sigma, shape))
        votes = np.broadcast_to(np.asarray(next(self._draws), dtype=np.float64), shape)
        return np.asarray(np.round(votes * 2**FRACTION_BITS), dtype=np.int64)

    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return self.gaussian(scale, shape)

    def uniform(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        keys = np.zeros(shape, dtype=np.uint64)
        keys[..., self._favoured] = 2**64 - 1
        return keys
