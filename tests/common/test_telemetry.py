import json

import pytest
import structlog

from common.telemetry import configure_logging, progress


def test_logs_are_json_lines_on_stderr_off_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRPC_VERBOSITY", "ERROR")
    try:
        configure_logging()
        structlog.get_logger().debug("too.much")
        structlog.get_logger().info("guardian.serving", address="127.0.0.1:7000")
    finally:
        structlog.reset_defaults()
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    entry = json.loads(line)
    assert entry["event"] == "guardian.serving"
    assert (entry["level"], entry["address"]) == ("info", "127.0.0.1:7000")
    assert "timestamp" in entry


def test_progress_is_silent_off_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as bar:
        bar.advance(bar.add_task("Labelling", total=2))
    said = capsys.readouterr()
    assert said.out == said.err == ""
