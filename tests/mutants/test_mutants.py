"""The harness itself, on a repository of two files."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mutants.__main__ import chosen
from tests.mutants.fault import Fault, FaultError, load
from tests.mutants.planting import Planter
from tests.mutants.telling import summary

CODE = "def larger(a: int, b: int) -> bool:\n    return a > b\n"
TESTS = """
from compared import larger

def test_a_number_is_not_larger_than_itself():
    assert not larger(1, 1)

def test_it_says_whether():
    assert larger(2, 1) in (True, False)
"""
NODE = "test_compared.py::test_a_number_is_not_larger_than_itself"


@pytest.fixture(scope="module")
def planter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planter]:
    root = tmp_path_factory.mktemp("repository")
    (root / "compared.py").write_text(CODE)
    (root / "test_compared.py").write_text(TESTS)
    with Planter(root, libraries=["pytest"]) as made:
        yield made


def fault(code: str = "a > b", instead: str = "a >= b", killer: str = "test_compared.py") -> Fault:
    return Fault("alike", "compared.py", code, instead, killer, "Nothing is larger than itself.")


def test_the_test_that_finds_a_fault_is_named_and_no_file_is_changed(planter: Planter) -> None:
    trial = planter.attempt(fault())
    assert (trial.killed_by, trial.problem) == (NODE, "")
    assert planter.control([fault()]) == ""
    assert (planter.root / "compared.py").read_text() == CODE
    assert sorted(path.name for path in planter.root.iterdir()) == ["compared.py", "test_compared.py"]


def test_a_fault_that_no_test_finds_survives(planter: Planter) -> None:
    trial = planter.attempt(fault(killer="test_compared.py::test_it_says_whether"))
    assert trial.problem.startswith("survived")
    assert "SURVIVED alike" in summary([trial])


@pytest.mark.parametrize(
    ("planted", "problem"),
    [
        (fault(code="a < b"), "has this 0 times"),
        (fault(code="a"), "times"),
        (fault(instead="a >"), "does not compile"),
        (fault(killer="test_none.py"), "does not import"),
    ],
)
def test_a_fault_that_cannot_be_tried_is_no_kill(planter: Planter, planted: Fault, problem: str) -> None:
    trial = planter.attempt(planted)
    assert trial.killed_by == ""
    assert problem in trial.problem


def test_a_test_that_fails_without_a_fault_is_told(planter: Planter) -> None:
    broken = planter.root / "test_broken.py"
    broken.write_text("def test_never():\n    assert False\n")
    try:
        assert "test_broken.py::test_never" in planter.control([fault(killer="test_broken.py")])
    finally:
        broken.unlink()


def test_every_fault_of_the_lists_can_be_planted() -> None:
    """Also without running anything: what a list quotes must still be in its file."""
    faults = load()
    assert len(faults) > 60
    for one in faults:
        one.planted()
        assert Path(one.killer.partition("::")[0]).exists(), one.killer


def test_a_sample_follows_from_its_seed() -> None:
    faults = load()
    first = chosen(faults, [], None, 5, 7)
    assert (len(first), chosen(faults, [], None, 5, 7)) == (5, first)
    assert chosen(faults, [], None, 5, 8) != first
    assert chosen(faults, [faults[3].name], None, None, 0) == [faults[3]]


def test_two_faults_of_one_name_are_refused(tmp_path: Path) -> None:
    entry = '[one]\nfile = "a.py"\ncode = "a"\ninstead = "b"\nkiller = "t.py"\nrule = "A rule."\n'
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text(entry)
    with pytest.raises(FaultError, match="named twice: one"):
        load(tmp_path)
