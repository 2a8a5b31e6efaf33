"""Start and stop of server processes: the ready file, and stop signals."""

import json
import os
import signal
import threading
from pathlib import Path

DRAIN_S = 10.0
"""Seconds that calls in flight get when a server stops."""


def stop_on_signal() -> threading.Event:
    """Return an event that is set on SIGTERM and SIGINT; call this from the main thread."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


def write_ready(path: Path, address: str) -> None:
    """Write {"address": ...} for whoever waits for this server; the file appears whole."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps({"address": address}), encoding="utf-8")
    os.replace(partial, path)
