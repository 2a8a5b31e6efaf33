"""A clock that stands still while other work has all cores, and the time limit of every case by it.

A case that waits for a reply, a lock or a process that never comes leaves its core idle: then seconds count.
Where other work has the cores nobody knows whether a case hangs or has not had its turn: then only the
processor time that it used itself counts. So a busy machine ends no case, and a case that hangs is ended soon
after a core is free.
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
"""The kernel counts idle time in hundredths of a second, so that looks much closer together tell nothing."""
LEAST_IDLE = 0.5
"""Of one core: with more than that to spare, whatever could run did."""
HANGS_S = 3600.0
"""Deadline of calls that are not about deadlines: longer than any case may take by its fair clock, which ends
a case that hangs."""


def used_s() -> float:
    """Processor seconds of this process and of children that ended."""
    usages = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def idle_s() -> float:
    """Seconds for which this machine's cores had nothing to do, added up over all of them."""
    times = psutil.cpu_times()
    return float(times.idle + getattr(times, "iowait", 0.0))


class FairClock:
    """Counts seconds from when it is made."""

    def __init__(
        self,
        timer: Callable[[], float] = time.monotonic,
        idle: Callable[[], float] = idle_s,
        used: Callable[[], float] = used_s,
    ) -> None:
        """Take what tells the time, the cores' idle seconds and this process's own processor seconds."""
        self._timer = timer
        self._idle = idle
        self._used = used
        self._counted = 0.0
        self._seen = self._look()

    def seconds(self) -> float:
        """Return how many seconds count until now."""
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
        """Take what makes a case's clock."""
        self._clock = clock

    @pytest.hookimpl(tryfirst=True)
    def pytest_timeout_set_timer(self, item: pytest.Item, settings: Settings) -> bool | None:
        """Watch a case until its timer is cancelled; interrupt it once its time is over."""
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
