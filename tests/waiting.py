"""Waiting for what happens elsewhere."""

import threading
from collections.abc import Callable

import pytest


def until(condition: Callable[[], bool], timeout_s: float = 60) -> None:
    """Return once a condition holds; fail after a while."""
    pause = threading.Event()
    for _ in range(int(timeout_s / 0.02)):
        if condition():
            return
        pause.wait(0.02)
    pytest.fail("the condition never held")
