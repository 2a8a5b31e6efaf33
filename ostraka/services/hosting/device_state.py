"""Whether a party's device works, for those who tell others of it."""

import threading
from collections.abc import Callable

import structlog

from ostraka.common.errors import ErrorCode, OstrakaError


class DeviceState:
    """Works until teachers fail on a record of zeros, and again from when all of them take one.

    What it says depends on device and models alone, never on a query or a record. Safe to use from many
    threads.
    """

    def __init__(self) -> None:
        """Start with a device that works."""
        self._works = True
        self._failures = 0
        self._tell: list[Callable[[bool], object]] = []
        # Held while others are told, so that they hear of changes in the order in which these come.
        self._lock = threading.Lock()

    @property
    def works(self) -> bool:
        """Whether it does, as far as is known."""
        return self._works

    def watch(self, tell: Callable[[bool], object]) -> None:
        """Call `tell` with whether the device works, now and whenever that changes."""
        with self._lock:
            self._tell.append(tell)
            tell(self._works)

    def failed(self, exc: BaseException) -> None:
        """Take note of what a prediction raised: the device is gone where that is `server.device_gone`."""
        if not isinstance(exc, OstrakaError) or exc.code is not ErrorCode.SERVER_DEVICE_GONE:
            return
        with self._lock:
            self._failures += 1
            if self._works:
                structlog.get_logger().error("device.gone", sentence=exc.message)
                self._change(works=False)

    def retry(self, probe: Callable[[], object]) -> None:
        """Where the device is gone, have `probe` ask all teachers: it works again unless that raises."""
        if self._works:
            return
        failures = self._failures
        try:
            probe()
        except Exception:
            return
        with self._lock:
            if failures == self._failures:
                structlog.get_logger().info("device.back")
                self._change(works=True)

    def _change(self, *, works: bool) -> None:
        self._works = works
        for tell in self._tell:
            tell(works)
