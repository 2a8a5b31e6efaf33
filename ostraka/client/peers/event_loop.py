"""An event loop in one thread of this process, for calls to many parties without a thread each."""

import asyncio
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` in the event loop, and return its result; an interruption here cancels it."""
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
