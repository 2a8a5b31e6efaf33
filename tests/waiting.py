"""Waiting for events elsewhere."""

import threading
from collections.abc import Callable

import pytest

from tests.fair_clock import FairClock


def until(condition: Callable[[], bool], timeout_s: float = 60, every_s: float = 0.02) -> None:
    """Return once a condition holds; fail after this many seconds of a fair clock."""
    pause, clock = threading.Event(), FairClock()
    while not condition():
        if clock.seconds() >= timeout_s:
            pytest.fail(f"the condition did not hold within {timeout_s:g} s")
        pause.wait(every_s)
