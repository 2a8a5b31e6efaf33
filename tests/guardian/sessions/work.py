"""A clock that measures work instead of time, so that two runs can be compared exactly."""

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
    """Counts the work of calls of a function, in this thread and all threads started within the block.

    A line of `common` or `guardian` costs one plus the elements of every array in its scope; a call of
    anything else from such a line costs the size of its array arguments. Calls to noise and database
    connections cost one each: their work depends on shapes, and how much of it is already done is a matter of
    time. Garbage collection is off, because finalizers would run lines of their own.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._code = function.__code__
        self._thread = threading.local()
        self._lock = threading.Lock()
        self._on = False
        self._before: Any = None
        self.charged: list[int] = []
        """The cost of each call, in the order in which they ended."""

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
