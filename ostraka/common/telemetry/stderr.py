"""Lines on stderr that are lost, and nothing else, where nobody reads them: logging must never raise."""

import io
import sys
import threading
from contextlib import suppress
from typing import Any

_LOCK = threading.Lock()


def write_line(line: str) -> None:
    """Write a line to whatever stderr is at the time; it is lost where the terminal or the reader is gone.

    Nothing of it stays in a buffer, which would be tried again, and fail again, when the process ends.
    """
    with suppress(Exception), _LOCK:
        raw = _raw(sys.stderr)
        if raw is None:
            print(line, file=sys.stderr, flush=True)
        else:
            raw.write(f"{line}\n".encode("utf-8", "backslashreplace"))


class Lines:
    """A logger of structlog's that writes rendered events to stderr."""

    def msg(self, line: str) -> None:
        """Write one event."""
        write_line(line)

    log = debug = info = warning = warn = error = critical = fatal = exception = msg


def _raw(stream: Any) -> io.RawIOBase | None:
    """Return the file below a system stream; None for what stands in for one, as under progress bars."""
    raw = getattr(getattr(stream, "buffer", None), "raw", None) if type(stream) is io.TextIOWrapper else None
    return raw if isinstance(raw, io.RawIOBase) else None
