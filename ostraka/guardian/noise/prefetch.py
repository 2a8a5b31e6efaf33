"""Noise drawn in the background, between a batch's ticket and its release."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import Draw
from ostraka.guardian.noise.source import NoiseSource

_Futures = deque[Future[NDArray[np.int64]]]

MOST_VALUES = 4_000_000
"""Prepared numbers kept at once: 32 MB."""


class Ahead:
    """A few threads that draw from `source` what open batches will need. Thread-safe.

    At most `most` numbers are prepared at a time; draws that do not fit are left to the moment of release.
    Batches that are gone no longer count. OpenDP lets other threads run while it draws.
    """

    def __init__(self, source: NoiseSource, *, most: int = MOST_VALUES, threads: int = 2) -> None:
        """Start with nothing prepared."""
        self._source = source
        self._most = most
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="noise")
        self._batches: WeakSet[DrawnNoise] = WeakSet()
        self._closed = False
        self._lock = threading.Lock()

    def prepare(self, draws: Sequence[Draw]) -> DrawnNoise:
        """Return the noise source of one batch and start on its draws; once closed, it draws on demand."""
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
        """Finish the draws under way, cancel those not begun and stop the threads."""
        with self._lock:
            self._closed = True
        self._pool.shutdown(cancel_futures=True)


class DrawnNoise:
    """The noise source of one batch: hands out each prepared draw once, and draws everything else afresh.

    Prepared draws of one kind, scale and shape come in the order they were asked for; one that still waits
    for a thread is drawn on the spot. What is not used is dropped, and never seen by another batch.
    """

    def __init__(self, source: NoiseSource, futures: Mapping[Draw, _Futures]) -> None:
        """Hand out the results of `futures`; `source` draws the rest."""
        self._source = source
        self._futures = dict(futures)
        self._lock = threading.Lock()

    @property
    def values(self) -> int:
        """How many prepared numbers it still keeps."""
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
        """Forget what was not handed out, and cancel what is not drawn yet: its batch is dead."""
        with self._lock:
            unused = [future for waiting in self._futures.values() for future in waiting]
            self._futures.clear()
        for future in unused:
            future.cancel()

    def _take(self, draw: Draw) -> NDArray[np.int64]:
        with self._lock:
            waiting = self._futures.get(draw)
            future = waiting.popleft() if waiting else None
        if future is None or future.cancel():
            return draw.of(self._source)
        return future.result()
