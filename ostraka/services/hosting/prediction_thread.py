"""One thread on which all models predict; it joins waiting queries for the same teachers."""

import threading
import time
import traceback
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ostraka.common.learning.device import Device, DeviceState
from ostraka.common.telemetry.tracing import span
from ostraka.services.hosting.admission import stopping

MICRO_BATCH = 512
"""Maximum number of queries that are predicted together."""
MICRO_BATCH_ON_GPU = 4096
"""The same on a GPU, which smaller batches would leave idle."""


class Predictor(Protocol):
    """An ensemble that votes on features (Q, F) float32."""

    def predict(self, X: NDArray[np.float32], rows: slice) -> NDArray[Any]:
        """Return class indices (rows, Q) int64, or scores (rows, Q, labels) float32 in [0, 1]."""


class PredictionObserver(Protocol):
    """Receives events of the prediction thread."""

    def record_wait(self, seconds: float) -> None:
        """Record how long queries waited for their turn."""

    def record_prediction(self, seconds: float, queries: int) -> None:
        """Record how many queries were predicted together, and for how long."""


class _Unwatched:
    def record_wait(self, seconds: float) -> None:
        """Do nothing."""

    def record_prediction(self, seconds: float, queries: int) -> None:
        """Do nothing."""


@dataclass(frozen=True, eq=False)
class _Asked:
    """Queries that wait for votes of some teachers, in batches of at most `most`."""

    model: Predictor
    rows: slice
    most: int
    X: NDArray[np.float32] = field(repr=False)
    votes: "Future[NDArray[Any]]" = field(default_factory=Future, repr=False)
    since: float = field(default_factory=time.perf_counter)

    def joins(self, other: "_Asked") -> bool:
        """Whether one prediction can answer both."""
        return self.model is other.model and self.rows == other.rows


class PredictionThread:
    """Predicts for any number of threads, in the order of their requests; thread-safe.

    While a micro-batch is predicted, queries of other sessions gather; those for the same teachers are then
    predicted together. An idle device never waits for more queries.

    Attributes:
        device: where models predict; its state is updated when it fails.
    """

    def __init__(self, device: Device, watch: PredictionObserver | None = None) -> None:
        """Start the thread; `close` ends it."""
        self.device = device
        self._watch = watch or _Unwatched()
        self._waiting: deque[_Asked] = deque()
        # Guards the queue and the closed flag; notified of both, and never held while a model predicts.
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="device", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """The number of requests that wait for their turn."""
        with self._changed:
            return len(self._waiting)

    def predict(
        self, model: Predictor, X: NDArray[np.float32], rows: slice, most: int = MICRO_BATCH
    ) -> NDArray[Any]:
        """Return the result of `model.predict(X, rows)`, or raise its error; see `ask`."""
        with span("device.predict", queries=len(X)):
            return self.ask(model, X, rows, most).result()

    def ask(
        self, model: Predictor, X: NDArray[np.float32], rows: slice, most: int = MICRO_BATCH
    ) -> "Future[NDArray[Any]]":
        """Return the votes of teachers `rows` on X as a future; X is predicted as a whole.

        Other requests are predicted with it as long as they are at most `most` queries together. Raises
        `server.stopping` after `close`.
        """
        asked = _Asked(model, rows, most, X)
        with self._changed:
            if self._closed:
                raise stopping()
            self._waiting.append(asked)
            self._changed.notify()
        return asked.votes

    def close(self) -> None:
        """Answer all waiting requests, and end."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while together := self._next():
            began = time.perf_counter()
            for asked in together:
                self._watch.record_wait(began - asked.since)
            _answer(together, self._watch, self.device.state)
            # Released while idle: otherwise a GPU would keep the weights of teachers that were replaced.
            del together, asked

    def _next(self) -> list[_Asked]:
        """Return the oldest request and those that join it, oldest first; empty once closed and done."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            together: list[_Asked] = []
            others: deque[_Asked] = deque()
            room = 0
            # The oldest goes first; others join it if they fit, and keep their position if they do not.
            for asked in self._waiting:
                if not together:
                    room = asked.most
                elif not asked.joins(together[0]) or len(asked.X) > room:
                    others.append(asked)
                    continue
                together.append(asked)
                room -= len(asked.X)
            self._waiting = others
            return together


@dataclass(frozen=True)
class OnThread:
    """An ensemble that votes on a shared thread, in batches of at most `most` queries."""

    thread: PredictionThread
    ensemble: Predictor
    most: int

    def predict(self, X: NDArray[np.float32], rows: slice) -> NDArray[Any]:
        """Return the ensemble's votes; thread-safe."""
        return self.thread.predict(self.ensemble, X, rows, self.most)


def _answer(together: Sequence[_Asked], watch: PredictionObserver, state: DeviceState) -> None:
    """Predict for all at once; if that fails, for each alone, so a request fails only for its own queries.

    The thread continues whatever a model raises: without it, no request would ever be answered.
    """
    began = time.perf_counter()
    try:
        parts = _votes(together)
    except BaseException as exc:
        if len(together) > 1:
            for asked in together:
                _answer([asked], watch, state)
        else:
            state.note_failure(exc)
            error = exc if isinstance(exc, Exception) else RuntimeError(type(exc).__name__)
            _forget_frames(error)
            together[0].votes.set_exception(error)
        return
    finally:
        watch.record_prediction(time.perf_counter() - began, sum(len(asked.X) for asked in together))
    for asked, votes in zip(together, parts, strict=True):
        asked.votes.set_result(votes)


def _forget_frames(error: BaseException) -> None:
    """Release what the frames of a failure keep: models, their tensors on a GPU, and the queries.

    The future would keep them, and the GPU memory, until Python's next garbage collection.
    """
    if error.__traceback__ is not None:
        # The frame of `_answer` is still running, so it cannot be cleared; it keeps the future.
        error.__traceback__ = error.__traceback__.tb_next
    failed: BaseException | None = error
    while failed is not None:
        traceback.clear_frames(failed.__traceback__)
        failed = failed.__cause__ or failed.__context__


def _votes(together: Sequence[_Asked]) -> list[NDArray[Any]]:
    model = together[0].model
    rows = together[0].rows
    if len(together) == 1:
        return [model.predict(together[0].X, rows)]
    sizes = [len(asked.X) for asked in together]
    votes = model.predict(np.concatenate([asked.X for asked in together]), rows)
    if votes.shape[1] != sum(sizes):
        raise ValueError("wrong number of votes")
    return np.split(votes, np.cumsum(sizes)[:-1], axis=1)
