import json
import logging
import os
import pty
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import structlog

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.telemetry import configure_logging, progress

Lines = Callable[[], list[dict[str, Any]]]
SEED = bytes(range(32))
HOSTILE = "x\nbudget.raised epsilon=1000\x1b]0;owned\x07\x1b[2J\u202e"


class Unreadable:
    @property
    def shape(self) -> None:
        raise RuntimeError


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Lines]:
    """Yield a function that reads what was logged after `configure_logging`."""
    monkeypatch.setenv("GRPC_VERBOSITY", "ERROR")
    logging.captureWarnings(False)

    def read() -> list[dict[str, Any]]:
        said = capsys.readouterr()
        assert said.out == ""
        return [json.loads(line) for line in said.err.splitlines()]

    yield read
    structlog.reset_defaults()


def test_logs_are_json_lines_on_stderr_off_a_terminal(lines: Lines) -> None:
    configure_logging()
    structlog.get_logger().debug("too.much")
    structlog.get_logger().info("guardian.serving", address="127.0.0.1:7000")
    (entry,) = lines()
    assert entry["event"] == "guardian.serving"
    assert (entry["level"], entry["address"]) == ("info", "127.0.0.1:7000")
    assert "timestamp" in entry


def test_payloads_never_reach_a_line(lines: Lines) -> None:
    configure_logging()
    structlog.get_logger().info("batch", reply={"seed": SEED, "rows": 3})
    (entry,) = lines()
    assert entry["reply"] == {"seed": "<redacted bytes, 32>", "rows": 3}


def test_other_libraries_log_the_same_way(lines: Lines) -> None:
    configure_logging()
    configure_logging()
    logging.getLogger("ray.worker").info("chatter")
    with structlog.contextvars.bound_contextvars(session="5e55"):
        logging.getLogger("uvicorn.error").warning("lost %s of %d", SEED, 3)
    (entry,) = lines()
    assert entry["event"] == "lost <redacted bytes, 32> of 3"
    assert (entry["logger"], entry["level"], entry["session"]) == ("uvicorn.error", "warning", "5e55")


def test_what_libraries_warn_of_is_logged_the_same_way(lines: Lines) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        configure_logging()
        warnings.warn("a serial number below 1", UserWarning, stacklevel=1)
    (entry,) = lines()
    assert "UserWarning: a serial number below 1" in entry["event"]
    assert (entry["logger"], entry["level"]) == ("py.warnings", "warning")


def test_a_message_that_does_not_fit_its_arguments_is_logged_without_them(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    configure_logging()
    logging.getLogger("alembic").error("%d rows", SEED)
    (entry,) = lines()
    assert entry["event"] == "%d rows"


@pytest.mark.parametrize("logger", [structlog.get_logger, logging.getLogger])
def test_exceptions_tell_their_type_and_place_alone(lines: Lines, logger: Callable[[], Any]) -> None:
    configure_logging()

    def fail() -> None:
        votes = "votes 3 1 4"
        raise ValueError(votes)

    try:
        try:
            fail()
        except ValueError as exc:
            raise OstrakaError(ErrorCode.DATA_NAN, "A number is missing.") from exc
    except OstrakaError:
        logger().exception("batch.failed")
    (entry,) = lines()
    outer, inner = entry["exception"]
    assert outer.startswith("data.nan: A number is missing. at ")
    assert inner.startswith("ValueError at ")
    assert "votes 3 1 4" not in json.dumps(entry)
    assert "exc_info" not in entry


END = b"<end>"


@contextmanager
def logging_to(stderr: int | str) -> Iterator[None]:
    """Within the block stderr is another file, and events are rendered for it."""
    with open(stderr, "w", encoding="utf-8") as file, pytest.MonkeyPatch.context() as patched:
        patched.setenv("GRPC_VERBOSITY", "ERROR")
        patched.setattr(sys, "stderr", file)
        configure_logging()
        yield
    structlog.reset_defaults()


def log_everything() -> None:
    """Log by every way there is, what a caller chose and an exception included."""
    try:
        raise ValueError
    except ValueError:
        structlog.get_logger().exception("rpc.failed", session=HOSTILE)
        logging.getLogger("grpc").exception("refused %s", HOSTILE)
    structlog.get_logger().info(HOSTILE, nested=[HOSTILE], **{HOSTILE: 1})
    structlog.get_logger().info("rendered.by.nobody", stack=1)
    structlog.get_logger().info("odd", value=Unreadable())
    logging.getLogger("grpc").error("odd %s", Unreadable())


def test_a_terminal_is_sent_nothing_that_it_obeys() -> None:
    terminal, theirs = pty.openpty()
    with logging_to(theirs):
        log_everything()
        os.write(theirs, END)
        shown = b""
        while not shown.endswith(END):
            shown += os.read(terminal, 65536)
    os.close(terminal)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown.decode())
    assert "\x1b" not in plain
    assert "\x07" not in plain
    assert "\\x1b]0;owned\\x07" in plain
    assert not any(line.startswith("budget.raised") for line in plain.splitlines())
    assert plain.count("ValueError at ") == 2


def test_logging_to_a_terminal_that_is_closed_raises_nothing() -> None:
    terminal, theirs = pty.openpty()
    with logging_to(theirs):
        os.close(terminal)
        log_everything()


def test_logging_to_a_pipe_that_nobody_reads_raises_nothing() -> None:
    read, write = os.pipe()
    os.close(read)
    with logging_to(write):
        log_everything()


def test_logging_to_a_full_disk_raises_nothing() -> None:
    with logging_to("/dev/full"):
        log_everything()


def test_progress_is_silent_off_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as bar:
        bar.advance(bar.add_task("Labelling", total=2))
    said = capsys.readouterr()
    assert said.out == said.err == ""
