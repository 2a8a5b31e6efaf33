"""Noise drawn between a batch's ticket and its release, ready at times that do not depend on its values."""

from __future__ import annotations

import math
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from statistics import median
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import Draw
from ostraka.common.noise.source import NoiseSource

_CALL_S = 5e-3
"""Seconds of a slot besides those of its values: room for a call's own time, which few values exceed."""
_MIN_VALUE_S = 2e-7
"""A lower bound on the measured time: with a clock too coarse for blank draws, slots are still not empty."""
_MARGIN = 2.0
"""A slot lasts twice as long as blank draws: a longer one delays every answer, a shorter one overruns more
often."""
_BLANK_DRAWS = 3
"""Blank draws whose median is used: one interrupted draw changes nothing."""
_BLANK_VALUES = 4000
"""Values of a blank draw: enough to make a call's own time negligible; with Ostraka's sampler they take a
millisecond or two, with OpenDP's 50."""
_BLANK_SCALE = 97 / 3
"""The scale of blank draws uses all bits of a float, the slowest case for OpenDP, and lies just above a power
of two, where Ostraka takes the fewest candidates for Laplace noise."""


def calibrate(source: NoiseSource, processor_s: Callable[[], float] = time.thread_time) -> float:
    """Return the seconds of a slot per value: twice the time of blank draws here, which are dropped.

    Their processor time counts, so slots depend on the machine and not on its other work. The slower one of
    the two distributions counts.
    """

    def took(draw: Callable[[float, tuple[int, ...]], object]) -> float:
        began = processor_s()
        draw(_BLANK_SCALE, (_BLANK_VALUES,))
        return processor_s() - began

    laws = (source.gaussian, source.laplace)
    slower = max(median(took(draw) for _ in range(_BLANK_DRAWS)) for draw in laws)
    return max(_MIN_VALUE_S, _MARGIN * slower / _BLANK_VALUES)


class ScheduledNoise:
    """Draws of a source, each ready at the end of a public time slot.

    The time of an exact sampler depends on its draw. A draw is ready one slot after it began; if it took
    longer, after two, four, eight slots and so on. An overrun, on a slow or busy machine or in a rare long
    draw, reveals the draw's duration within a factor of two. Threads may share it.
    """

    def __init__(
        self,
        source: NoiseSource,
        value_s: float,
        monotonic: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        """Take `value_s` from `calibrate`; `monotonic` returns seconds that never run back.

        `sleep` waits for at least so many seconds.
        """
        self._source = source
        self._value_s = value_s
        self._monotonic = monotonic
        self._sleep = sleep

    def slot_s(self, values: int) -> float:
        """Return the seconds of the slot for this many values."""
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
        """Return uniform uint64 values at once: their time does not depend on the values."""
        return self._source.uniform(shape)

    @contextmanager
    def _slot(self, shape: tuple[int, ...]) -> Iterator[None]:
        """End the block one, two, four or so on slots after it began."""
        slot = self.slot_s(math.prod(shape))
        began = self._monotonic()
        yield
        took = self._monotonic() - began
        slots = 2 ** max(0, math.ceil(math.log2(took / slot))) if took > slot else 1
        self._sleep(max(0.0, slots * slot - took))


_Futures = deque[Future[NDArray[np.int64]]]

MAX_VALUES = 4_000_000
"""Largest number of prepared values at once: 32 MB."""


class NoisePrefetcher:
    """A few threads that draw in advance, from `source`, what open batches will need. Thread-safe.

    At most `most` numbers are prepared at a time; draws that do not fit happen at the release. Batches that
    are gone no longer count. Sources let other threads run while they draw.
    """

    def __init__(self, source: NoiseSource, *, most: int = MAX_VALUES, threads: int = 2) -> None:
        self._source = source
        self._most = most
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="noise")
        self._batches: WeakSet[DrawnNoise] = WeakSet()
        self._closed = False
        # Two batches must not both take the free room, and none may begin after the pool is shut.
        self._lock = threading.Lock()

    def prepare(self, draws: Sequence[Draw]) -> DrawnNoise:
        """Return the noise source of one batch and start its draws; after `close`, it draws on demand."""
        futures: dict[Draw, _Futures] = defaultdict(deque)
        with self._lock:
            free = 0 if self._closed else self._most - sum(batch.values for batch in self._batches)
            for draw in draws:
                if draw.values <= free:
                    futures[draw].append(self._pool.submit(draw.of, self._source))
                    free -= draw.values
            noise = DrawnNoise(self._source, futures)
            self._batches.add(noise)
        return noise

    def close(self) -> None:
        """Finish the draws under way, cancel the others and stop the threads."""
        with self._lock:
            self._closed = True
        self._pool.shutdown(cancel_futures=True)


class DrawnNoise:
    """The noise source of one batch: hands out each prepared draw once, and draws everything else anew.

    Prepared draws of one kind, scale and shape come in the order in which they were requested; a draw that
    failed, or still waits for a thread, is made on the spot. Unused draws are dropped, and no other batch
    ever sees them.
    """

    def __init__(self, source: NoiseSource, futures: Mapping[Draw, _Futures]) -> None:
        """Hand out the results of `futures`; `source` draws the rest."""
        self._source = source
        self._futures = dict(futures)
        # If two releases received the same draw, their noise would be equal.
        self._lock = threading.Lock()

    @property
    def values(self) -> int:
        """Number of prepared values that it still holds."""
        with self._lock:
            return sum(draw.values * len(waiting) for draw, waiting in self._futures.items())

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return int64 discrete Gaussians of `sigma` votes, in lattice steps."""
        return self._take(Draw("gaussian", sigma, shape))

    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return int64 discrete Laplace noise of `scale` votes, in lattice steps."""
        return self._take(Draw("laplace", scale, shape))

    def uniform(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        """Return uniform uint64 values, drawn now."""
        return self._source.uniform(shape)

    def drop(self) -> None:
        """Discard everything not handed out, and cancel what is not drawn yet: its batch is dead."""
        with self._lock:
            unused = [future for waiting in self._futures.values() for future in waiting]
            self._futures.clear()
        for future in unused:
            future.cancel()

    def _take(self, draw: Draw) -> NDArray[np.int64]:
        with self._lock:
            waiting = self._futures.get(draw)
            future = waiting.popleft() if waiting else None
        if future is None or future.cancel() or future.exception() is not None:
            return draw.of(self._source)
        return future.result()
