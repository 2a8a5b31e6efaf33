import io
import json
import sys
from pathlib import Path

import pytest
import typer

from ostraka.common.console.cli import run, write_json
from ostraka.common.console.screen import Screen
from ostraka.common.errors import ErrorCode, OstrakaError


def leaving(monkeypatch: pytest.MonkeyPatch, error: Exception | None, *arguments: str) -> int | str | None:
    app = typer.Typer(add_completion=False)

    @app.command()
    def command() -> None:
        if error is not None:
            raise error

    monkeypatch.setattr("sys.argv", ["ostraka", *arguments])
    with pytest.raises(SystemExit) as left:
        run(app)
    return left.value.code


def test_success(monkeypatch: pytest.MonkeyPatch) -> None:
    assert leaving(monkeypatch, None) == 0


def test_an_error_is_one_line_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = OstrakaError(ErrorCode.DATA_MISSING, "There is no pool.npz; name a file that exists.")
    assert leaving(monkeypatch, error) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "error [data.missing]: There is no pool.npz; name a file that exists.\n"


@pytest.mark.parametrize(("variable", "coloured"), [("FORCE_COLOR", True), ("NO_COLOR", False)])
def test_the_code_of_an_error_is_red_unless_colours_are_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variable: str, *, coloured: bool
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv(variable, "1")
    leaving(monkeypatch, OstrakaError(ErrorCode.DATA_MISSING, "There is no pool.npz."))
    assert ("31m" in capsys.readouterr().err) == coloured


def test_a_usage_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert leaving(monkeypatch, None, "--no-such-option") == 2
    assert "--no-such-option" in capsys.readouterr().err


def test_a_package_of_an_extra_that_is_missing_is_no_mistake_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert leaving(monkeypatch, ModuleNotFoundError(name="opendp")) == 2
    said = "This needs opendp, which is not installed; run pip install 'ostraka[opendp]'.\n"
    assert capsys.readouterr().err == f"error [config.invalid]: {said}"


def test_a_mistake_of_our_own_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert leaving(monkeypatch, ZeroDivisionError("division by zero")) == 1
    said = capsys.readouterr().err
    assert said.startswith("error [internal]: ZeroDivisionError at ")
    assert "Traceback" not in said


def test_json_goes_where_it_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.json"
    write_json({"answered": 1}, str(target))
    write_json({"answered": 2}, "-")
    write_json({"answered": 3}, None)
    assert json.loads(target.read_text()) == {"answered": 1}
    assert json.loads(capsys.readouterr().out) == {"answered": 2}
    with pytest.raises(OstrakaError) as refusal:
        write_json({}, str(tmp_path / "nowhere" / "out.json"))
    assert refusal.value.code is ErrorCode.CONFIG_INVALID


def test_a_terminal_that_lacks_a_letter_stops_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii", write_through=True))
    app = typer.Typer(add_completion=False)
    app.command()(lambda: Screen().print("auffällig"))
    monkeypatch.setattr(sys, "argv", ["app"])
    with pytest.raises(SystemExit) as left:
        run(app, "app")
    assert left.value.code == 0
    assert raw.getvalue() == b"auff\\xe4llig\n"
