from functools import partial
from pathlib import Path

import pytest

from benchmarks.reproduce import source
from benchmarks.reproduce.source import code_version, settings_of, source_of

BEFORE = '''"""Runs."""

def run() -> float:
    """Return one."""
    from benchmarks.helper import one
    return one()  # at once
'''


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(source, "ROOT", tmp_path)
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    folder.joinpath("run.py").write_text(BEFORE)
    folder.joinpath("helper.py").write_text("def one():\n    return 1\n")
    folder.joinpath("unrelated.py").write_text("A = 1\n")
    return folder


def changed(repository: Path, file: str, text: str) -> bool:
    before = code_version("benchmarks.run")
    repository.joinpath(file).write_text(text)
    source._read.cache_clear()
    return code_version("benchmarks.run") != before


def test_comments_and_docstrings_do_not_change_the_version(repository: Path) -> None:
    told_otherwise = BEFORE.replace("Return one.", "Return 1.").replace("at once", "now")
    assert not changed(repository, "run.py", told_otherwise)
    assert changed(repository, "run.py", BEFORE.replace("one()", "2 * one()"))


def test_what_is_imported_within_functions_counts_and_nothing_else(repository: Path) -> None:
    assert not changed(repository, "unrelated.py", "A = 2\n")
    assert changed(repository, "helper.py", "def one():\n    return 2\n")


def test_modules_are_found_where_they_lie() -> None:
    assert source_of("benchmarks.caching") == source.ROOT / "benchmarks" / "caching.py"
    assert (
        source_of("ostraka.guardian.accounting")
        == source.ROOT / "ostraka" / "guardian" / "accounting" / "__init__.py"
    )
    assert source_of("numpy.linalg") is None
    assert source_of("benchmarks.nowhere") is None


def test_values_that_a_partial_fixes_are_settings() -> None:
    assert settings_of(partial(code_version, module="a")) == (
        source.__name__,
        "code_version",
        {"module": "a"},
    )
    assert settings_of(code_version) == (source.__name__, "code_version", {})
