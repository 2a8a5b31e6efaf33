"""Start and stop of server processes: the ready file, and stop signals."""

import json
import os
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path

DRAIN_S = 10.0
"""Seconds that calls in flight get when a server stops."""


def stop_on_signal(hang_up: Callable[[], object] | None = None) -> threading.Event:
    """Return an event that is set soon after SIGTERM or SIGINT; call this once, from the main thread.

    SIGHUP has `hang_up` called, where it is given, in a thread of its own.
    """
    stop = threading.Event()
    actions: dict[int, Callable[[], object]] = {signal.SIGTERM: stop.set, signal.SIGINT: stop.set}
    if hang_up is not None:
        actions[signal.SIGHUP] = hang_up
    # Python runs handlers in the main thread alone, which waits on where the kernel gives the signal to
    # another thread, and which may be in the middle of setting the event. What wakes is written at once,
    # in whichever thread, and read by one that holds no lock.
    ours, wakes = socket.socketpair()
    wakes.setblocking(False)

    def follow() -> None:
        with ours, wakes:
            while True:
                for number in ours.recv(64):
                    if number in actions:
                        actions[number]()

    threading.Thread(target=follow, name="signals", daemon=True).start()
    signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
    for number in actions:
        # Of a signal without a handler nothing is written.
        signal.signal(number, lambda *_: None)
    return stop


def write_ready(path: Path, address: str) -> None:
    """Write {"address": ...} for processes that wait for this server; the file appears atomically."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps({"address": address}), encoding="utf-8")
    os.replace(partial, path)
