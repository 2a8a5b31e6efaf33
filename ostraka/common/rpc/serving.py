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

    SIGHUP calls `hang_up`, if it is given, in a separate thread.
    """
    stop = threading.Event()
    actions: dict[int, Callable[[], object]] = {signal.SIGTERM: stop.set, signal.SIGINT: stop.set}
    if hang_up is not None:
        actions[signal.SIGHUP] = hang_up
    # Python runs handlers only in the main thread. That thread continues to wait if the kernel delivers the
    # signal to another thread, and it may be in the middle of setting the event. The wake-up byte, however,
    # is written at once, in whichever thread, and read by a thread that holds no lock.
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
        # Nothing is written for a signal without a handler.
        signal.signal(number, lambda *_: None)
    return stop


def write_ready(path: Path, address: str) -> None:
    """Write {"address": ...} for processes that wait for this server; the file appears atomically."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps({"address": address}), encoding="utf-8")
    os.replace(partial, path)
