"""Noise that is ready at times which it does not decide."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from ostraka.guardian.noise.source import NoiseSource

_CALL_S, _VALUE_S = 5e-3, 20e-6


def slot_s(values: int) -> float:
    """Return the seconds in which so many values are drawn: about twice what it takes on a core of 2020."""
    return _CALL_S + values * _VALUE_S


class ScheduledNoise:
    """Draws of a source, each ready at the end of a public time slot.

    How long an exact sampler takes depends on what it draws. A draw is ready one slot after it began, and
    where it took longer after two, four, eight and so on: an overrun, on a slow or busy machine or in a rare
    long draw, tells its length within a factor of two. Threads may share it.
    """

    def __init__(
        self, source: NoiseSource, monotonic: Callable[[], float], sleep: Callable[[float], None]
    ) -> None:
        """`monotonic` tells seconds that never run back, `sleep` waits for that many at least."""
        self._source = source
        self._monotonic = monotonic
        self._sleep = sleep

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return int64 discrete Gaussians of `sigma` votes, in lattice steps."""
        with self._slot(shape):
            return self._source.gaussian(sigma, shape)

    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return int64 discrete Laplace noise of `scale` votes, in lattice steps."""
        with self._slot(shape):
            return self._source.laplace(scale, shape)

    def uniform(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        """Return uniform uint64 values at once: these take the same time whatever they are."""
        return self._source.uniform(shape)

    @contextmanager
    def _slot(self, shape: tuple[int, ...]) -> Iterator[None]:
        """End the block one, two, four or so on slots after it began."""
        slot, began = slot_s(math.prod(shape)), self._monotonic()
        yield
        took = self._monotonic() - began
        slots = 2 ** max(0, math.ceil(math.log2(took / slot))) if took > slot else 1
        self._sleep(max(0.0, slots * slot - took))
