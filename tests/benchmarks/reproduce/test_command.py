from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.reproduce import __main__ as command
from benchmarks.reproduce import registry, running, store
from benchmarks.reproduce.cell import Cell, Figure, Job, Outcome
from ostraka.common.console.cli import ExitStatus


def works(job: Job) -> Outcome:
    return Outcome((Figure("sum", (1.0,), 1.0),))


def fails(job: Job) -> Outcome:
    raise ValueError("no votes")


def stops(job: Job) -> Outcome:
    raise KeyboardInterrupt


def cells_are(monkeypatch: pytest.MonkeyPatch, **runs: object) -> None:
    made = tuple(Cell(name, "sums", "1", "nothing", run) for name, run in runs.items())  # type: ignore[arg-type]
    monkeypatch.setattr(registry, "cells", lambda: made)


def called(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(command.app, words)
    return result.exit_code, result.output


@pytest.fixture
def cache(tmp_path: object) -> tuple[str, str]:
    return "--cache", f"{tmp_path}/kept"


def test_cells_are_run_once_and_counted(monkeypatch: pytest.MonkeyPatch, cache: tuple[str, str]) -> None:
    cells_are(monkeypatch, a=works, b=works)
    status, output = called(*cache, "--only", "a")
    assert (status, "a: met" in output) == (0, True)
    assert "0 cells were kept, 1 were run, 0 failed." in output
    assert "1 cells were kept, 1 were run, 0 failed." in called(*cache)[1]


def test_a_failure_is_told_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, cache: tuple[str, str]
) -> None:
    cells_are(monkeypatch, a=fails, b=works)
    status, output = called(*cache)
    assert status == ExitStatus.STOPPED
    assert "a: ValueError: no votes" in output
    assert "b: met" in output


def test_what_older_code_made_is_made_anew_the_cheapest_first(
    monkeypatch: pytest.MonkeyPatch, cache: tuple[str, str]
) -> None:
    cells_are(monkeypatch, dear=works, cheap=works, failed=fails)
    monkeypatch.setattr(running, "_processor_seconds", iter([0, 200, 200, 240, 240, 240]).__next__)
    called(*cache)
    cells_are(monkeypatch, dear=works, never=works, cheap=works)
    assert "0 cells to run" in called(*cache, "--older")[1]
    monkeypatch.setattr(store, "code_version", lambda module, name: "newer")
    monkeypatch.setattr(running, "_processor_seconds", lambda: 0)
    output = called(*cache, "--older")[1]
    assert "2 cells to run, about 4 min of a processor." in output
    assert output.index("cheap: met") < output.index("dear: met")
    assert "never" not in output
    assert "0 cells to run" in called(*cache, "--older")[1]


def test_as_many_as_take_no_longer_are_made_anew_and_the_others_are_counted(
    monkeypatch: pytest.MonkeyPatch, cache: tuple[str, str]
) -> None:
    cells_are(monkeypatch, a=works, b=works, c=works)
    called(*cache)
    monkeypatch.setattr(store, "code_version", lambda module, name: "newer")
    status, output = called(*cache, "--older", "--seconds", "10")
    assert status == 0
    assert "3 rows are by older code; skipped: 0 without their data, 1 that take longer." in output
    assert "0 numbers differ" in output
    assert "1 rows are by older code" in called(*cache, "--older")[1]


def test_a_number_that_no_longer_agrees_fails(
    monkeypatch: pytest.MonkeyPatch, cache: tuple[str, str]
) -> None:
    cells_are(monkeypatch, a=works)
    called(*cache)
    monkeypatch.setattr(store, "code_version", lambda module, name: "newer")
    cells_are(monkeypatch, a=lambda job: Outcome((Figure("sum", (2.0,), 1.0),)))
    status, output = called(*cache, "--older")
    assert status == ExitStatus.STOPPED
    assert "a: sum: 1 before, 2 now" in output


def test_a_number_that_no_longer_agrees_fails_again_until_the_page_has_it(
    monkeypatch: pytest.MonkeyPatch, cache: tuple[str, str], tmp_path: Path
) -> None:
    monkeypatch.setattr(store, "RECORDS", tmp_path / "records")
    cells_are(monkeypatch, a=works)
    called(*cache)
    kept = store.Store(tmp_path / "kept", tmp_path / "records")
    kept.show(*registry.cells())
    monkeypatch.setattr(store, "code_version", lambda module, name: "newer")
    cells_are(monkeypatch, a=lambda job: Outcome((Figure("sum", (2.0,), 1.0),)))
    assert [called(*cache, "--older")[0] for _ in range(2)] == [ExitStatus.STOPPED] * 2
    assert "0 cells to run" in called(*cache, "--older", "--seconds", "0")[1]
    kept.show(*registry.cells())
    assert "0 rows are by older code" in called(*cache, "--older")[1]


def test_rows_without_their_data_are_skipped(monkeypatch: pytest.MonkeyPatch, cache: tuple[str, str]) -> None:
    cells_are(monkeypatch, a=works)
    called(*cache)
    monkeypatch.setattr(store, "code_version", lambda module, name: "newer")
    (cell,) = registry.cells()
    monkeypatch.setattr(registry, "cells", lambda: (replace(cell, needs=("nowhere.npz",)),))
    status, output = called(*cache, "--older")
    assert status == 0
    assert "1 rows are by older code; skipped: 1 without their data" in output


def test_seconds_are_of_older_rows_alone(cache: tuple[str, str]) -> None:
    status, output = called(*cache, "--seconds", "10")
    assert status == ExitStatus.REFUSED
    assert "--seconds" in output


def test_ctrl_c_says_that_the_same_command_goes_on(
    monkeypatch: pytest.MonkeyPatch, cache: tuple[str, str]
) -> None:
    cells_are(monkeypatch, a=works, b=stops)
    status, output = called(*cache)
    assert status == ExitStatus.INTERRUPTED
    assert "the same command goes on" in output
    assert "a" in output
    cells_are(monkeypatch, a=works)
    assert "1 cells were kept, 0 were run" in called(*cache)[1]


def test_cells_are_listed_with_their_words(monkeypatch: pytest.MonkeyPatch, cache: tuple[str, str]) -> None:
    cells_are(monkeypatch, a=works)
    assert "not run here" in called(*cache, "--list")[1]
    called(*cache)
    assert "met" in called(*cache, "--list")[1]


def test_a_name_that_no_cell_has_is_refused(cache: tuple[str, str]) -> None:
    status, output = called(*cache, "--only", "tang-2022-table-99")
    assert status == ExitStatus.REFUSED
    assert "--only" in output
