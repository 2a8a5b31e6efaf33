"""Every limit in the code is named in `limits.toml`, with the test that goes one beyond it."""

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_name("limits.toml")
WORDS = re.compile(
    r"(^|_)(AT_ONCE|A_DAY|ATTEMPTS|DEEPEST|HELD|HOPS|KEPT|LARGEST|LEAST|LIMITS?|LONGEST|MAX|MIN|MOST|OF_ONE_SITE"
    r"|PATIENCE|PER_MESSAGE|PLACES|REMEMBERED|TIMEOUT|TRIES)(_|$)"
)
"""What constants that bound something are called by."""
CAPITALS = re.compile(r"\b[A-Z_][A-Z0-9_]+\b")
"""How constants are written: only files with one that is called as limits are get parsed."""

Limits = Mapping[str, Mapping[str, str | Mapping[str, str]]]


def limits() -> Limits:
    """Return the list: by file and name the test, or why it is no limit."""
    return tomllib.loads(LIST.read_text(encoding="utf-8"))


def constants(text: str) -> Iterator[str]:
    """Yield the constants of a module that are called as limits are; texts bound nothing."""
    if not any(map(WORDS.search, set(CAPITALS.findall(text)))):
        return
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        else:
            continue
        value = statement.value
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            continue
        for target in targets:
            for name in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(name, ast.Name) and name.id.isupper() and WORDS.search(name.id):
                    yield name.id


def named_in_the_code() -> set[tuple[str, str]]:
    """Return files, relative to the root, and the limits in them."""
    return {
        (path.relative_to(ROOT).as_posix(), name)
        for path in sorted((ROOT / "ostraka").rglob("*.py"))
        for name in constants(path.read_text(encoding="utf-8"))
    }


@cache
def parsed(path: Path) -> list[ast.stmt]:
    """Return the statements of a file."""
    return ast.parse(path.read_text(encoding="utf-8")).body


def defines(test: str) -> bool:
    """Whether a file has the test of this node id, in the class that it names if it names one."""
    file, *names = test.split("::")
    path = ROOT / file
    inside = parsed(path) if path.is_file() else []
    for name in names:
        known = [one for one in inside if isinstance(one, ast.ClassDef | ast.FunctionDef)]
        inside = next((one.body for one in known if one.name == name), [])
    return bool(names) and names[-1].startswith("test_") and bool(inside)


def test_every_limit_is_listed_and_no_other() -> None:
    listed = {(file, name) for file, names in limits().items() for name in names}
    found = named_in_the_code()
    assert sorted(found - listed) == [], "name the test that goes one beyond each in tests/limits.toml"
    assert sorted(listed - found) == [], "these are gone from the code: take them out of tests/limits.toml"


def test_every_limit_names_a_test_that_there_is() -> None:
    gone = [
        f"{file} {name}: {test}"
        for file, names in limits().items()
        for name, test in names.items()
        if isinstance(test, str) and not defines(test)
    ]
    assert gone == []


def test_what_is_no_limit_says_why() -> None:
    for names in limits().values():
        for why in names.values():
            assert isinstance(why, str) or (set(why) == {"not_a_limit"} and len(why["not_a_limit"]) > 20)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("MOST_ROWS = 3\nLIMIT: int = 2\n_A_MOST, B = 1, 2", ["MOST_ROWS", "LIMIT", "_A_MOST"]),
        ("MOST_OF = 'text'\nALMOST = 1\nmost = 2\nrow.MOST = 3", []),
        ("def f():\n    MOST = 1", []),
    ],
)
def test_limits_are_found_by_their_names(text: str, found: list[str]) -> None:
    assert list(constants(text)) == found


def test_tests_are_found_in_their_files_and_classes() -> None:
    here = "tests/test_limits.py"
    assert defines(f"{here}::test_tests_are_found_in_their_files_and_classes")
    for wrong in (
        here,
        f"{here}::test_gone",
        f"{here}::limits",
        f"{here}::TestGone::test_x",
        "tests/gone.py::test_x",
    ):
        assert not defines(wrong)
