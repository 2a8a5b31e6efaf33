"""Logs on stderr, with the ids that they concern; never with votes, shares, seeds or keys.

Servers log in the threads that serve, so nothing here raises, whatever is logged and wherever stderr goes.

Votes, shares, seeds and keys travel as bytes, arrays, tensors, messages and objects. None of these types is
ever written out, wherever it is within a value, so no caller has to remember which of them is secret.
"""

import datetime
import io
import logging
import os
import re
import sys
import threading
import traceback
from collections.abc import Mapping, MutableMapping, Sequence, Set
from contextlib import suppress
from typing import Any

import structlog
from structlog.typing import Processor

from ostraka.common.errors import OstrakaError, printable

MAX_DEPTH = 8
"""Maximum depth of nested containers; deeper ones are redacted."""
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S)
_PLAIN = (str, int, float, type(None), datetime.date, datetime.time, datetime.timedelta, os.PathLike)


def redact_value(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Return `value` with everything in it that is not a plain value replaced, as in "<redacted bytes, 32>".

    Text, numbers, times and paths are plain; lists, sets and mappings of them are copied as lists and dicts.
    """
    if isinstance(value, str):
        return _PRIVATE_KEY.sub("<redacted private key>", value)
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, OstrakaError):
        return f"{value.code}: {value.message}"
    if depth and isinstance(value, Mapping):
        return {_key(key): redact_value(item, depth - 1) for key, item in value.items()}
    if depth and _is_list(value):
        return [redact_value(item, depth - 1) for item in value]
    return _placeholder(value)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence | Set) and not isinstance(value, bytes | bytearray | memoryview)


def _key(key: Any) -> str:
    plain = redact_value(key)
    return plain if isinstance(plain, str) else str(plain)


def _placeholder(value: Any) -> str:
    """Return a value's type, and its size if that is known without reading it."""
    size: Any = getattr(value, "shape", None)
    if isinstance(value, bytes | bytearray | memoryview):
        size = len(value)
    told = f", {tuple(size)}" if isinstance(size, tuple) else f", {size}" if isinstance(size, int) else ""
    return f"<redacted {type(value).__name__}{told}>"


_LOCK = threading.Lock()
"""Guards stderr, so that lines of several threads do not mix."""


def write_line(line: str) -> None:
    """Write a line to the current stderr; it is lost if the terminal or the reader is gone.

    Nothing stays in a buffer, which the process would try to write again, and fail again, when it ends.
    """
    with suppress(Exception), _LOCK:
        raw = _raw(sys.stderr)
        if raw is None:
            print(line, file=sys.stderr, flush=True)
        else:
            raw.write(f"{line}\n".encode("utf-8", "backslashreplace"))


class Lines:
    """A structlog logger that writes rendered events to stderr."""

    def msg(self, line: str) -> None:
        """Write one event."""
        write_line(line)

    log = debug = info = warning = warn = error = critical = fatal = exception = msg


def _raw(stream: Any) -> io.RawIOBase | None:
    """Return the file below a system stream; None if the stream was replaced, as under progress bars."""
    raw = getattr(getattr(stream, "buffer", None), "raw", None) if type(stream) is io.TextIOWrapper else None
    return raw if isinstance(raw, io.RawIOBase) else None


_HANDLER = "ostraka"
Event = MutableMapping[str, Any]


def configure_logging(level: int = logging.INFO) -> None:
    """Log events of `level` and above to stderr: for people on a terminal, else one JSON object per line.

    Log records of other libraries at WARNING and above, and Python warnings, go the same way. Call this
    before gRPC is imported: it silences gRPC's own lines unless GRPC_VERBOSITY is set, since OstrakaError is
    clearer.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    rendered = _renderer()
    structlog.configure(
        processors=[*_processors(), rendered],
        wrapper_class=_unfailing(level),
        logger_factory=lambda *_: Lines(),
    )
    _follow_others(rendered, max(level, logging.WARNING))
    logging.captureWarnings(True)


def configure_logging_once() -> None:
    """Log warnings of servers, unless structlog is already configured."""
    if not structlog.is_configured():
        configure_logging(logging.WARNING)


def redact(_logger: Any, _method: str, event: Event) -> Event:
    """Replace everything but plain values in a log line."""
    return {str(key): redact_value(value) for key, value in event.items()}


def explain(_logger: Any, _method: str, event: Event) -> Event:
    """Describe an exception by its type and place; its message and variables may be secret."""
    told = event.pop("exc_info", None)
    error = sys.exc_info()[1] if told is True else told[1] if isinstance(told, tuple) else told
    if isinstance(error, BaseException):
        event["exception"] = exception_summary(error)
    return event


def exception_summary(error: BaseException) -> list[str]:
    """Summarize an exception and its causes, oldest last: type, place, and the message if it is Ostraka's."""
    chain: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in chain:
        chain.append(following)
        context = None if following.__suppress_context__ else following.__context__
        following = following.__cause__ or context
    return [_summary(one) for one in chain]


def _summary(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__, limit=-1)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    if isinstance(error, OstrakaError):
        return f"{error.code}: {error.message}{where}"
    number = f" {error.errno}" if isinstance(error, OSError) and error.errno else ""
    return f"{type(error).__name__}{number}{where}"


def _processors() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        explain,
        redact,
    ]


def _renderer() -> Processor:
    if not sys.stderr.isatty():
        return structlog.processors.JSONRenderer()
    rendered = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    return lambda logger, method, event: rendered(logger, method, for_terminal(event))


def for_terminal(event: Event) -> Event:
    """Return an event in a form that is safe for a terminal: one line, then its exceptions; all printable.

    Callers choose some of what is logged, and a terminal executes control codes.
    """
    told = {printable(key): _escape(value) for key, value in event.items()}
    if isinstance(causes := event.get("exception"), list):
        told["exception"] = "\n".join(map(printable, causes))
    return told


def _escape(value: Any) -> Any:
    """Return text escaped; the renderer shows the `repr` of everything else, which is escaped already."""
    return printable(value) if isinstance(value, str) else value


def _unfailing(level: int) -> type[Any]:
    """Return a logger class for events of `level` and above that drops events it cannot write."""

    class Unfailing(structlog.make_filtering_bound_logger(level)):  # type: ignore[misc]
        def _proxy_to_logger(self, *args: Any, **event: Any) -> Any:
            with suppress(Exception):
                return super()._proxy_to_logger(*args, **event)

    return Unfailing


class _ToStderr(logging.Handler):
    """Writes to the current stderr; arguments are redacted before they become text."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; if the message does not fit its arguments, leave them out."""
        with suppress(Exception):
            write_line(self._line(record))

    def _line(self, record: logging.LogRecord) -> str:
        told = logging.makeLogRecord(record.__dict__ | {"args": redact_arguments(record.args)})
        try:
            return self.format(told)
        except Exception:
            return self.format(logging.makeLogRecord(record.__dict__ | {"args": None}))


def redact_arguments(args: Any) -> Any:
    """Return the arguments of a record of `logging`, each redacted."""
    if isinstance(args, tuple):
        return tuple(redact_value(one) for one in args)
    return redact_value(args) if args else args


def _follow_others(rendered: Processor, level: int) -> None:
    handler = _ToStderr(level)
    handler.set_name(_HANDLER)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *_processors()],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, rendered],
        )
    )
    root = logging.getLogger()
    root.handlers = [kept for kept in root.handlers if kept.get_name() != _HANDLER] + [handler]
