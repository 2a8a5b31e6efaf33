"""How a server process of any role tells that it is up, and is told to stop."""

import json
import os
import signal
import threading
from pathlib import Path

DRAIN_S = 10.0
"""Seconds that calls in flight get when a server stops."""


def stop_on_signal() -> threading.Event:
    """An event that is set on SIGTERM and SIGINT; call it from the main thread."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


def write_ready(path: Path, address: str) -> None:
    """Write {"address": ...} for whoever waits for this server; the file appears whole."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps({"address": address}), encoding="utf-8")
    os.replace(partial, path)
