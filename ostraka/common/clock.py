"""Clocks, handed in wherever time matters."""

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> float:
        """Unix seconds."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Unix seconds."""
        return time.time()


class ManualClock:
    """A clock that stands still until it is moved."""

    def __init__(self, start: float) -> None:
        """Stand at `start` unix seconds."""
        self._now = start

    def now(self) -> float:
        """Unix seconds."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move forward, or back if negative."""
        self._now += seconds
