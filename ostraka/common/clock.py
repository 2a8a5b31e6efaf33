"""Clocks, passed in wherever time matters."""

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> float:
        """Return the time in Unix seconds."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Return the time in Unix seconds."""
        return time.time()


class ManualClock:
    """A clock that only moves when it is told to."""

    def __init__(self, start: float) -> None:
        """Start at `start` Unix seconds."""
        self._now = start

    def now(self) -> float:
        """Return the time in Unix seconds."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move forward, or back if negative."""
        self._now += seconds
