"""A clock that goes by work done, not by time, so that two runs can be compared exactly."""

import gc
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

import numpy as np

PACKAGE = Path(__file__).parents[3] / "ostraka"
COUNTED = tuple(str(PACKAGE / part) for part in ("common", "guardian"))
NOISE = tuple(str(PACKAGE / part / "noise") for part in ("common", "guardian"))
STORAGE = tuple(
    str(PACKAGE / "guardian" / "ledger" / "store" / f"{name}.py")
    for name in ("backend", "postgres", "sqlite", "storage")
)


class WorkClock:
    """Counts what calls of a function do, in all threads that begin within the block and in this one.

    A line of `common` or `guardian` costs one and the elements of every array that is at hand there, a call
    of anything else from such a line as much as the arrays that it is given. Noise and database
    connections cost one a call: they go by shapes, and what of them is ready by then is a matter of time.
    Nor is garbage collected meanwhile: what ends then would run lines of its own.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._code = function.__code__
        self._thread = threading.local()
        self._lock = threading.Lock()
        self._on = False
        self._before: Any = None
        self.charged: list[int] = []
        """What each call cost, in the order of their ends."""

    def __enter__(self) -> Self:
        self._on, self._before = True, sys.gettrace()
        gc.disable()
        threading.settrace(self._called)
        sys.settrace(self._called)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._on = False
        gc.enable()
        sys.settrace(self._before)
        threading.settrace(self._before)

    def _called(self, frame: FrameType, event: str, _: Any) -> Any:
        if not self._on:
            return None
        if frame.f_code is self._code:
            self._thread.work = 0
        if getattr(self._thread, "work", None) is None:
            return None
        if _counts(frame):
            return self._went_on
        if frame.f_back is not None and _counts(frame.f_back):
            self._thread.work += 1 + (0 if _is_apart(frame) else _at_hand(frame))
        return None

    def _went_on(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self._thread.work += 1 + _at_hand(frame)
        elif event == "return" and frame.f_code is self._code:
            with self._lock:
                self.charged.append(self._thread.work)
            self._thread.work = None
        return self._went_on


def _counts(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(COUNTED) and not _is_apart(frame)


def _is_apart(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith((*NOISE, *STORAGE))


def _at_hand(frame: FrameType) -> int:
    return sum(value.size for value in frame.f_locals.values() if isinstance(value, np.ndarray))
