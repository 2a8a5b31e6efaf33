"""Start and stop of server processes: the ready file, and stop signals."""

import json
import os
import signal
import threading
from pathlib import Path
from queue import SimpleQueue

DRAIN_S = 10.0
"""Seconds that calls in flight get when a server stops."""


def stop_on_signal() -> threading.Event:
    """Return an event that is set soon after SIGTERM or SIGINT; call this from the main thread."""
    stop = threading.Event()
    # A handler may run within the main thread's own call of the event, whose lock it would wait for without
    # end; putting into a queue takes none.
    signals = SimpleQueue[int]()

    def follow() -> None:
        signals.get()
        stop.set()

    threading.Thread(target=follow, name="stop", daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: signals.put(number))
    return stop


def write_ready(path: Path, address: str) -> None:
    """Write {"address": ...} for whoever waits for this server; the file appears whole."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps({"address": address}), encoding="utf-8")
    os.replace(partial, path)
