from pathlib import Path

import pytest

from benchmarks.reproduce import definitions
from benchmarks.reproduce.definitions import Module, Name, read_module, source_of


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr(definitions, "ROOT", tmp_path)
    tmp_path.joinpath("benchmarks").mkdir()

    def write(text: str) -> Module:
        tmp_path.joinpath("benchmarks", "module.py").write_text(text)
        read_module.cache_clear()
        found = read_module("benchmarks.module")
        assert found
        return found

    yield write
    read_module.cache_clear()


def names(module: Module, name: str) -> set[Name]:
    return set(module.define(name).names)


def test_modules_are_found_where_they_lie_and_others_do_not_count() -> None:
    root = definitions.ROOT
    assert source_of("benchmarks.caching") == root / "benchmarks" / "caching.py"
    package = root / "ostraka" / "guardian" / "accounting" / "__init__.py"
    assert source_of("ostraka.guardian.accounting") == package
    assert source_of("ostraka.common.errors") is None
    assert source_of("numpy.linalg") is None
    assert source_of("benchmarks.nowhere") is None


def test_a_name_of_an_import_is_told_with_what_is_taken_of_it(write) -> None:  # type: ignore[no-untyped-def]
    module = write(
        "from benchmarks import paper\nfrom benchmarks.caching import digest as short\nA = short(paper.B.c)\n"
    )
    assert names(module, "A") == {Name("benchmarks.caching", "digest"), Name("benchmarks", "paper", "B")}


def test_all_that_gives_a_name_its_value_is_its_definition(write) -> None:  # type: ignore[no-untyped-def]
    module = write("try:\n    A = 1\nexcept ValueError:\n    A = B\nB = 2\n")
    assert set(module.bound) == {"A", "B"}
    assert names(module, "A") == {Name("benchmarks.module", "B")}
    assert not module.registrations


def test_fields_have_types_that_count_and_functions_have_not(write) -> None:  # type: ignore[no-untyped-def]
    module = write("class A:\n    b: B\n    def c(self, b: C) -> C: ...\nclass B: ...\nclass C: ...\n")
    assert names(module, "A") == {Name("benchmarks.module", "B")}


def test_a_registration_acts_on_its_first_argument_or_on_what_is_changed(write) -> None:  # type: ignore[no-untyped-def]
    module = write(
        "A = {}\nB = 1\n"
        "register(B, A)\nregister(*(A, B))\nA.update(b=B)\nA['b'] += B\nA['c'] = B\n"
        "for b in (B,):\n    A[b] = b\n"
        "if __name__ == '__main__':\n    A.clear()\n"
    )
    on = [one.on and one.on.name for one in module.registrations]
    assert on == ["B", "A", "B", "A", "A", "A", None]
