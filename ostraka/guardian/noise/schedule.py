"""Noise that is ready at times which it does not decide."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

import numpy as np
from numpy.typing import NDArray

from ostraka.guardian.noise.source import NoiseSource

_CALL_S = 5e-3
_LEAST_VALUE_S = 1e-6
_MARGIN = 2.0
_BLANK_DRAWS, _BLANK_VALUES, _BLANK_SIGMA = 3, 400, 40 / 3
"""Draws that are timed and dropped. A scale that uses all bits of a float takes longest."""


def calibrated(source: NoiseSource, processor_s: Callable[[], float] = time.thread_time) -> float:
    """Return the seconds of a slot for each value: twice what blank draws take here, which are dropped.

    Their processor time counts, so that slots follow from the machine and not from what else it did.
    """

    def took() -> float:
        began = processor_s()
        source.gaussian(_BLANK_SIGMA, (_BLANK_VALUES,))
        return processor_s() - began

    return max(_LEAST_VALUE_S, _MARGIN * median(took() for _ in range(_BLANK_DRAWS)) / _BLANK_VALUES)


class ScheduledNoise:
    """Draws of a source, each ready at the end of a public time slot.

    How long an exact sampler takes depends on what it draws. A draw is ready one slot after it began, and
    where it took longer after two, four, eight and so on: an overrun, on a slow or busy machine or in a rare
    long draw, tells its length within a factor of two. Threads may share it.
    """

    def __init__(
        self,
        source: NoiseSource,
        value_s: float,
        monotonic: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        """`value_s` is what `calibrated` says; `monotonic` tells seconds that never run back.

        `sleep` waits for so many seconds at least.
        """
        self._source = source
        self._value_s = value_s
        self._monotonic = monotonic
        self._sleep = sleep

    def slot_s(self, values: int) -> float:
        """Return the seconds of the slot that so many values are drawn in."""
        return _CALL_S + values * self._value_s

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
        slot, began = self.slot_s(math.prod(shape)), self._monotonic()
        yield
        took = self._monotonic() - began
        slots = 2 ** max(0, math.ceil(math.log2(took / slot))) if took > slot else 1
        self._sleep(max(0.0, slots * slot - took))
