"""Ends batches whose time is over also while nobody calls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog

from ostraka.common.errors import OstrakaError

INTERVAL_S = 5.0


@contextmanager
def sweeping(expire: Callable[[], object], *, interval_s: float = INTERVAL_S) -> Iterator[None]:
    """Call `expire` every `interval_s` seconds within the block; a ledger that is away is tried again."""
    done = threading.Event()

    def sweep() -> None:
        while not done.wait(interval_s):
            try:
                expire()
            except OstrakaError as exc:
                structlog.get_logger().warning("guardian.batches_not_expired", code=exc.code)

    thread = threading.Thread(target=sweep, name="sweep", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
