"""A clock that stops while other work uses all cores, and every test's time limit by that clock.

A test that waits for a reply, a lock or a process that never comes leaves its core idle: then seconds count.
While other work uses the cores, it is unknown whether a test hangs or is only waiting for a core: then only
the processor time that it used itself counts. So a busy machine ends no test, and a hanging test is ended
soon after a core is free.
"""

from __future__ import annotations

import resource
import signal
import threading
import time
from collections.abc import Callable

import psutil
import pytest
from pytest_timeout import Settings, timeout_sigalrm

LOOK_EVERY_S = 0.5
"""The kernel counts idle time in hundredths of a second, so much shorter intervals measure nothing."""
LEAST_IDLE = 0.5
"""Idle share of one core above which everything that could run did run."""
HANGS_S = 3600.0
"""Deadline of calls whose deadline is not tested: longer than any test may take by its fair clock, which ends
a test that hangs."""


def used_s() -> float:
    """Processor seconds of this process and of children that have ended."""
    usages = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def idle_s() -> float:
    """Seconds for which this machine's cores were idle, added up over all cores."""
    times = psutil.cpu_times()
    return float(times.idle + getattr(times, "iowait", 0.0))


class FairClock:
    """Counts seconds from its creation."""

    def __init__(
        self,
        timer: Callable[[], float] = time.monotonic,
        idle: Callable[[], float] = idle_s,
        used: Callable[[], float] = used_s,
    ) -> None:
        """Take functions for the time, the cores' idle seconds and this process's processor seconds."""
        self._timer = timer
        self._idle = idle
        self._used = used
        self._counted = 0.0
        self._seen = self._look()

    def seconds(self) -> float:
        """Return how many seconds have counted so far."""
        seen = self._look()
        passed, idle, used = (now - before for now, before in zip(seen, self._seen, strict=True))
        if passed >= LOOK_EVERY_S:
            self._counted += passed if idle >= LEAST_IDLE * passed else min(passed, used)
            self._seen = seen
        return self._counted

    def _look(self) -> tuple[float, float, float]:
        return self._timer(), self._idle(), self._used()


class FairTimeouts:
    """A plugin in which pytest-timeout's limits are seconds of a `FairClock`."""

    def __init__(self, clock: Callable[[], FairClock] = FairClock) -> None:
        """Take the function that makes a test's clock."""
        self._clock = clock

    @pytest.hookimpl(tryfirst=True)
    def pytest_timeout_set_timer(self, item: pytest.Item, settings: Settings) -> bool | None:
        """Watch a test until its timer is cancelled; interrupt it once its time is up."""
        main = threading.main_thread()
        if threading.current_thread() is not main:
            return None  # only the main thread can be interrupted: pytest-timeout's own way ends the process
        clock, over = self._clock(), threading.Event()

        def watch() -> None:
            while not over.wait(LOOK_EVERY_S):
                if clock.seconds() >= settings.timeout and main.ident is not None:
                    over.set()
                    signal.pthread_kill(main.ident, signal.SIGALRM)

        watcher = threading.Thread(target=watch, name=f"time limit of {item.nodeid}", daemon=True)

        def cancel() -> None:
            over.set()
            watcher.join()
            signal.signal(signal.SIGALRM, signal.SIG_DFL)

        signal.signal(signal.SIGALRM, lambda *_: timeout_sigalrm(item, settings))
        item.cancel_timeout = cancel  # type: ignore[attr-defined] # where pytest-timeout looks for it
        watcher.start()
        return True
