import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog

from common.errors import ErrorCode, OstrakaError
from common.telemetry import configure_logging, progress

Lines = Callable[[], list[dict[str, Any]]]
SEED = bytes(range(32))


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Lines]:
    """Reads what was logged after `configure_logging`."""
    monkeypatch.setenv("GRPC_VERBOSITY", "ERROR")

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


def test_progress_is_silent_off_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as bar:
        bar.advance(bar.add_task("Labelling", total=2))
    said = capsys.readouterr()
    assert said.out == said.err == ""
