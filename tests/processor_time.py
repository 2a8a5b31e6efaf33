"""Keeps `make test` fast: a test that takes over a second of processor time fails unless it is `heavy`.

Processor time is that of this process, of all its threads and of the children it waited for, from a test's
setup to the end of its call. It excludes what other tests use too: fixtures of a module or a session, and
modules that are imported for the first time. It is counted in rounds of a fixed loop, which, like tests,
takes longer on a slow or busy machine.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator
from typing import Any

import pytest

from tests.fair_clock import used_s

LIMIT_LOOPS = 40.0
"""Limit for one test: about a second of processor time if a round takes 0.025 s."""
TOLERANCE = 2.0
"""How much longer the same work may take from one minute to the next when others share the cores."""
FASTEST_LOOP_S = 0.01 * TOLERANCE
"""No machine's round is taken for a shorter one: a test with fewer of these passes without timing the loop,
which takes a round itself."""
EXEMPT = ("heavy", "docs", "processes", "compose", "roles")
FEW_MODULES = 10
"""A test that imports more is not judged: the first test that needs a library pays for all."""


def loop_s() -> float:
    """Return the processor seconds that a round of the fixed loop takes at the moment.

    It looks up and adds, as tests do most of the time.
    """
    began = time.thread_time()
    sums: dict[int, int] = {}
    for number in range(200_000):
        sums[number & 1023] = sums.get(number & 511, 0) + number
    return time.thread_time() - began


def tolerated_loop_s() -> float:
    """Return the assumed duration of a round when a test is judged: at least twice its current duration.

    When several processes compete for cores, each loses caches, and what a core shares with another.
    """
    return loop_s() * TOLERANCE * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


class ProcessorTime:
    """A pytest plugin that measures every test."""

    def __init__(self, limit_loops: float, loop_s: Callable[[], float] = tolerated_loop_s) -> None:
        """Fail tests beyond `limit_loops` rounds of a loop that takes `loop_s` when a test is judged."""
        self._limit_loops = limit_loops
        self._loop_s = loop_s
        self._began = 0.0
        self._modules = 0
        self._shared = 0.0
        self._sharing = 0

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """Exclude the time of a fixture that other tests use too."""
        if fixturedef.scope == "function":
            return (yield)
        began = used_s()
        self._sharing += 1
        try:
            return (yield)
        finally:
            self._sharing -= 1
            if not self._sharing:
                self._shared += used_s() - began

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, Any, Any]:
        """Begin to measure."""
        self._began = used_s()
        self._shared = 0.0
        self._modules = len(sys.modules)
        return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Fail a test that passed but was too slow."""
        result = yield
        took = used_s() - self._began - self._shared
        exempt = any(item.get_closest_marker(marker) for marker in EXEMPT)
        judged = not exempt and len(sys.modules) <= self._modules + FEW_MODULES
        if judged and took > self._limit_loops * FASTEST_LOOP_S and took > (limit := self._limit()):
            pytest.fail(
                f"took {took:.1f} s of processor time, more than {limit:.1f}: make it cheaper, or"
                " mark it `heavy`, which `make test-all` runs.",
                pytrace=False,
            )
        return result

    def _limit(self) -> float:
        return self._limit_loops * self._loop_s()


class TotalProcessorTime:
    """A plugin that reports the time of a whole run, and of the fixed loop on the same machine."""

    def __init__(self) -> None:
        """Begin to count."""
        self._loops_s = [loop_s()]

    def pytest_sessionfinish(self) -> None:
        """Measure the loop again: a machine's speed changes within minutes."""
        self._loops_s.append(loop_s())

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Print the figures; xdist's workers have ended by now and are included."""
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None:
            return
        mean_s = sum(self._loops_s) / len(self._loops_s)
        used = used_s()
        reporter.write_line(
            f"{used:.0f} processor seconds: {used / mean_s:,.0f} rounds of the loop of"
            f" tests/processor_time.py, which took {mean_s:.4f} s each."
        )
