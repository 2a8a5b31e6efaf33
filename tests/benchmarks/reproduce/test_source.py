from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from benchmarks.reproduce import definitions, source
from benchmarks.reproduce.source import code_version, dependencies, settings_of

FILES = {
    "run.py": '''"""Runs."""

from typing import TYPE_CHECKING

from benchmarks import numbers
from benchmarks.kinds import Kind

if TYPE_CHECKING:
    from benchmarks.unrelated import A


def run(job: "A") -> float:
    """Return one."""
    from benchmarks.helper import one as first
    if job is None:
        raise ValueError(f"no job: {other()}")
    return first() * numbers.TWO * Kind().value  # at once


def other() -> int:
    return 3
''',
    "helper.py": "def one(): return half() * 2\ndef half(): return 0.5\ndef unused(): return 1\n",
    "numbers.py": "TWO = 2\nTHREE = 3\n",
    "__init__.py": "",
    "kinds.py": "from benchmarks.registry import register\nclass Kind: value = 1\nclass Other: value = 2\n"
    "register(Kind, 1)\nregister(Other, 2)\n",
    "registry.py": "KINDS = {}\n\n\ndef register(kind, value):\n    KINDS[kind] = value\n",
    "unrelated.py": "A = 1\n",
}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(definitions, "ROOT", tmp_path)
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    for name, text in FILES.items():
        folder.joinpath(name).write_text(text)
    return folder


def forget() -> None:
    for cached in (definitions.read_module, source._read, code_version):
        cached.cache_clear()


def version() -> str:
    forget()
    return code_version("benchmarks.run", "run")


def changed(repository: Path, file: str, old: str, new: str) -> bool:
    before = version()
    text = repository.joinpath(file).read_text()
    assert old in text
    repository.joinpath(file).write_text(text.replace(old, new))
    return version() != before


@pytest.fixture(autouse=True)
def afterwards() -> Iterator[None]:
    yield
    forget()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Return one.", "Return 1."),
        ("at once", "now"),
        ("no job: ", "There is no job: "),
        ('job: "A"', "job: object"),
        ("return 3", "return 4"),
        ("if TYPE_CHECKING", "if  TYPE_CHECKING"),
    ],
)
def test_what_only_people_read_does_not_count(repository: Path, old: str, new: str) -> None:
    assert not changed(repository, "run.py", old, new)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("run.py", "first()", "2 * first()"),
        ("helper.py", "half() * 2", "half() * 3"),
        ("helper.py", "0.5", "0.25"),
        ("numbers.py", "TWO = 2", "TWO = 3"),
        ("kinds.py", "value = 1", "value = 3"),
        ("kinds.py", "register(Kind, 1)", "register(Kind, 2)"),
        ("registry.py", "= value", "= -value"),
    ],
)
def test_every_definition_that_is_named_counts_directly_or_not(
    repository: Path, file: str, old: str, new: str
) -> None:
    assert changed(repository, file, old, new)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("helper.py", "return 1", "return 2"),
        ("numbers.py", "THREE = 3", "THREE = 4"),
        ("kinds.py", "value = 2", "value = 3"),
        ("kinds.py", "register(Other, 2)", "register(Other, 3)"),
        ("unrelated.py", "A = 1", "A = 2"),
    ],
)
def test_no_other_definition_of_the_same_modules_counts(
    repository: Path, file: str, old: str, new: str
) -> None:
    assert not changed(repository, file, old, new)


def test_where_a_definition_lies_does_not_count(repository: Path) -> None:
    before = version()
    repository.joinpath("elsewhere.py").write_text(FILES["helper.py"])
    assert not changed(repository, "run.py", "benchmarks.helper", "benchmarks.elsewhere")
    repository.joinpath("helper.py").write_text("from benchmarks.elsewhere import one\n")
    assert not changed(repository, "run.py", "benchmarks.elsewhere", "benchmarks.helper")
    assert version() == before


def test_what_comes_from_elsewhere_has_no_code_here() -> None:
    assert dependencies("numpy.linalg", "norm") == {}
    assert dependencies("benchmarks.nowhere", "run") == {}


def test_values_that_a_partial_fixes_are_settings() -> None:
    def run(module: str) -> str:
        return module

    name = test_values_that_a_partial_fixes_are_settings.__name__ + ".<locals>.run"
    assert settings_of(partial(run, module="a")) == (__name__, name, {"module": "a"})
    assert settings_of(run) == (__name__, name, {})
