"""One thread on which all models predict, joining queries that wait for the same teachers."""

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
"""Queries that are predicted together, at most."""
MICRO_BATCH_ON_GPU = 4096
"""The same on a GPU, which fewer would leave idle."""


class Predictor(Protocol):
    """An ensemble that votes on features (Q, F) float32."""

    def predict(self, X: NDArray[np.float32], rows: slice) -> NDArray[Any]:
        """Class indices (rows, Q) int64 of these teachers, or scores (rows, Q, labels) float32 in [0, 1]."""


class PredictionObserver(Protocol):
    """Receives events of the prediction thread."""

    def record_wait(self, seconds: float) -> None:
        """Record how long queries waited for their turn."""

    def record_prediction(self, seconds: float, queries: int) -> None:
        """So many were predicted together."""


class _Unwatched:
    def record_wait(self, seconds: float) -> None:
        """Nobody asks."""

    def record_prediction(self, seconds: float, queries: int) -> None:
        """Nobody asks."""


@dataclass(frozen=True, eq=False)
class _Asked:
    """Queries that wait for the votes of some teachers, `most` of them at a time."""

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
    """Predicts for any number of threads, in the order in which they ask; safe to call from all of them.

    While a micro-batch is predicted, queries of other sessions gather; those that wait for the same teachers
    are predicted together. Nothing waits for company while the device is idle.

    Attributes:
        device: where it predicts, told when that is gone.
    """

    def __init__(self, device: Device, watch: PredictionObserver | None = None) -> None:
        """Start the thread; `close` ends it."""
        self.device = device
        self._watch = watch or _Unwatched()
        self._waiting: deque[_Asked] = deque()
        # Guards the queue and whether it is closed; told of either, and never held while a model predicts.
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="device", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many wait for their turn."""
        with self._changed:
            return len(self._waiting)

    def predict(
        self, model: Predictor, X: NDArray[np.float32], rows: slice, most: int = MICRO_BATCH
    ) -> NDArray[Any]:
        """Return what `model.predict(X, rows)` gives, or raise what it raises; as `ask`."""
        with span("device.predict", queries=len(X)):
            return self.ask(model, X, rows, most).result()

    def ask(
        self, model: Predictor, X: NDArray[np.float32], rows: slice, most: int = MICRO_BATCH
    ) -> "Future[NDArray[Any]]":
        """Return the votes of teachers `rows` on X as a future; X is predicted whole.

        Others' queries are predicted with it as long as they are `most` together. Raises `server.stopping`
        once closed.
        """
        asked = _Asked(model, rows, most, X)
        with self._changed:
            if self._closed:
                raise stopping()
            self._waiting.append(asked)
            self._changed.notify()
        return asked.votes

    def close(self) -> None:
        """Answer what waits, and end."""
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
            # Not kept while nothing is asked: a card holds the weights of teachers that were replaced since.
            del together, asked

    def _next(self) -> list[_Asked]:
        """Return the oldest waiting one and those that join it, oldest first; none once closed and empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            together: list[_Asked] = []
            others: deque[_Asked] = deque()
            room = 0
            # The oldest goes first; others join it where they fit, and keep their turn where they do not.
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
    """An ensemble that votes on a thread shared with all others, `most` queries at a time."""

    thread: PredictionThread
    ensemble: Predictor
    most: int

    def predict(self, X: NDArray[np.float32], rows: slice) -> NDArray[Any]:
        """Return the ensemble's votes; safe to call from many threads."""
        return self.thread.predict(self.ensemble, X, rows, self.most)


def _answer(together: Sequence[_Asked], watch: PredictionObserver, state: DeviceState) -> None:
    """Predict for all at once; where that fails each alone, so that nobody fails for another's queries.

    Whatever a model raises, the thread goes on: without it nobody would get an answer again.
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
    """Drop what the frames of a failure hold: models, their tensors on a card, and the queries.

    The future would keep them, and with them the card's memory, until Python next looks for cycles.
    """
    if error.__traceback__ is not None:
        # That of `_answer`, which still runs, cannot be cleared, and holds the future.
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
