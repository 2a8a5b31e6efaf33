"""What .ci/run does with checks that fail."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).parents[2] / ".ci" / "phases.py"
ONCE = "test -e {0} || {{ touch {0}; exit 3; }}"
"""Fails the first time."""

Run = Callable[..., tuple[int, dict[str, str]]]


@pytest.fixture
def phases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("phases", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "phases", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "LOGS", tmp_path / "logs")
    return module


@pytest.fixture
def run(phases: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Run:
    def run_all(*made: tuple[str, str, tuple[str, ...]]) -> tuple[int, dict[str, str]]:
        all_of_them = {name: phases.Phase(name, command, after, command) for name, command, after in made}
        monkeypatch.setattr(phases, "PHASES", all_of_them)
        status = phases.main()
        return status, {name: phase.state for name, phase in all_of_them.items()}

    return run_all


def test_what_passes_the_second_time_is_flaky_and_fails_nothing(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, states = run(("good", "true", ()), ("shaky", ONCE.format(tmp_path / "once"), ()))
    assert (status, states) == (0, {"good": "ok", "shaky": "flaky"})
    assert capsys.readouterr().out.splitlines()[-2].split()[-1] == "flaky"


def test_what_fails_twice_fails_and_what_needs_it_is_not_run(run: Run) -> None:
    status, states = run(("bad", "exit 3", ()), ("after", "true", ("bad",)))
    assert (status, states) == (1, {"bad": "failed (3)", "after": "not run"})


def test_what_was_not_run_runs_once_what_it_needs_has_passed(run: Run, tmp_path: Path) -> None:
    one, other = (ONCE.format(tmp_path / name) for name in ("one", "other"))
    status, states = run(("first", one, ()), ("second", other, ("first",)), ("third", "true", ("second",)))
    assert (status, states) == (0, {"first": "flaky", "second": "flaky", "third": "ok"})


CASES = """
from pathlib import Path

def test_that_fails_once():
    assert Path(__file__).with_name("failed").exists() or Path(__file__).with_name("failed").touch()

def test_that_passes():
    with Path(__file__).with_name("passed").open("a") as file:
        file.write("once ")
"""


@pytest.mark.heavy
def test_only_the_cases_that_failed_are_run_again(run: Run, tmp_path: Path) -> None:
    cases = tmp_path / "cases"
    cases.mkdir()
    (cases / "test_cases.py").write_text(CASES)
    command = f"cd {cases} && {sys.executable} -m pytest -q -c /dev/null --rootdir ."
    assert run(("test", command, ())) == (0, {"test": "flaky"})
    assert (cases / "passed").read_text() == "once "
