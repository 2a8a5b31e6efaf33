"""Keeps `make test` fast: a case that takes over a second of processor time fails unless it is `heavy`.

Processor time is that of this process, of all its threads and of the children it waited for, from a case's
setup to the end of its call. Not counted is what other cases use too: fixtures of a module or a session, and
modules that are imported for the first time. A machine that is slow or busy just then has more: both are
measured before a case is failed, and tolerated as far as they change within seconds.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable, Generator
from typing import Any

import pytest

LIMIT_S = 1.0
TOLERANCE = 2.0
"""How much longer the same work takes from one minute to the next where others share the machine's cores."""
REFERENCE_S = 0.03
"""Processor seconds that `reference_work` takes on the machine that the limit is meant for."""
EXEMPT = ("heavy", "processes", "compose", "roles")
FEW_MODULES = 10
"""A case that imports more is not judged: the first one that needs a library pays for all."""


def used_s() -> float:
    """Processor seconds of this process and of children that ended."""
    usages = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def reference_work() -> None:
    """Look up and add, as tests do most of the time."""
    sums: dict[int, int] = {}
    for number in range(200_000):
        sums[number & 1023] = sums.get(number & 511, 0) + number


def slowness() -> float:
    """How many times longer than where the limit is meant for work may take here and now; at least 2.

    Cores that several processes want cost each of them caches, and what a core shares with another.
    """
    began = time.thread_time()
    reference_work()
    slower = (time.thread_time() - began) / REFERENCE_S
    return TOLERANCE * max(1.0, slower, os.getloadavg()[0] / (os.cpu_count() or 1))


class ProcessorTime:
    """A plugin of pytest that measures every case."""

    def __init__(self, limit_s: float, slowness: Callable[[], float] = slowness) -> None:
        """Fail cases beyond `limit_s` processor seconds, times how slow the machine is."""
        self._limit_s = limit_s
        self._slowness = slowness
        self._began = 0.0
        self._modules = 0
        self._shared = 0.0
        self._sharing = 0

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """Take out what a fixture takes that other cases use too."""
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
        self._began, self._shared, self._modules = used_s(), 0.0, len(sys.modules)
        return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Fail a case that was right but too slow."""
        result = yield
        took = used_s() - self._began - self._shared
        exempt = any(item.get_closest_marker(marker) for marker in EXEMPT)
        judged = not exempt and len(sys.modules) <= self._modules + FEW_MODULES
        if judged and took > self._limit_s and took > (limit := self._limit_s * self._slowness()):
            pytest.fail(
                f"took {took:.1f} s of processor time, more than {limit:.1f}: make it cheaper, or"
                " mark it `heavy`, which `make test-all` runs.",
                pytrace=False,
            )
        return result
