"""The thread of this process on which calls to many parties wait, without a thread for each."""

import asyncio
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Do `work` on that thread, and return what it returns; where this is interrupted, so is the work."""
    done = asyncio.run_coroutine_threadsafe(work, _loop())
    try:
        return done.result()
    finally:
        done.cancel()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="calls", daemon=True).start()
    return loop
