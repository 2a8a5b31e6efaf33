"""Files of dependencies: read back the same, and refused in one sentence."""

from pathlib import Path

import pytest

from ostraka.client.run.dependency_rules import Dependencies, load_dependencies, write_dependencies
from ostraka.common.errors import ErrorCode, OstrakaError
from tests.client.dependencies.clinic import rule

ODD = Dependencies(
    task='a "task"',
    dependencies=(rule("Ünder\\stood [1]", "b"), rule("c", "d"), rule("Ünder\\stood [1]", "e")),
)


def test_a_file_is_read_back_the_same(tmp_path: Path) -> None:
    write_dependencies(ODD, tmp_path / "deps.toml")
    assert load_dependencies(tmp_path / "deps.toml") == ODD
    assert ODD.families == {("Ünder\\stood [1]", 0): ("b", "e"), ("c", 0): ("d",)}


def test_children_come_after_their_parents_in_whatever_order_rules_are(tmp_path: Path) -> None:
    rules = (rule("c", "d"), rule("b", "c", "presence"), rule("a", "b"), rule("a", "e", "presence"))
    tree = Dependencies(task="t", dependencies=rules)
    assert list(tree.families.items()) == [
        (("a", 0), ("b",)),
        (("a", 1), ("e",)),
        (("b", 1), ("c",)),
        (("c", 0), ("d",)),
    ]
    write_dependencies(tree, tmp_path / "deps.toml")
    assert load_dependencies(tmp_path / "deps.toml") == tree


def test_a_file_without_a_word_of_it_is_of_absence(tmp_path: Path) -> None:
    path = tmp_path / "deps.toml"
    path.write_text('task = "a"\n' + RULE.format("b", "c", 1.0), encoding="utf-8")
    assert load_dependencies(path).families == {("b", 0): ("c",)}


RULE = '[[dependencies]]\nparent = "{}"\nchild = "{}"\nconfidence = {}\nmissed = 0.1\nsupport = 9\n'


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('task = "a"\n', "dependencies: it is missing"),
        ('task = "a"\ndependencies = []\n', "must have 1 or more entries"),
        ('task = "a"\n' + RULE.format("b", "c", 1.5), "confidence"),
        ('task = "a"\n' + RULE.format("b", "b", 1.0), "'b' is its own parent"),
        ('task = "a"\n' + RULE.format("a", "b", 1.0) + RULE.format("b", "a", 1.0), "'b' is its own parent"),
        ('task = "a"\n' + RULE.format("a", "b", 1.0) + 'implies = "nothing"\n', "implies"),
        ('task = "a"\n' + RULE.format("a", "c", 1.0) + RULE.format("b", "c", 1.0), "'c' has two parents"),
        ('task = "a"\ncolour = 1\n' + RULE.format("a", "c", 1.0), "colour"),
        ("task = ", "not TOML"),
    ],
)
def test_what_is_off_is_named(tmp_path: Path, text: str, named: str) -> None:
    path = tmp_path / "deps.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(OstrakaError, match=named) as refused:
        load_dependencies(path)
    assert refused.value.code is ErrorCode.CONFIG_INVALID


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(OstrakaError, match=r"deps\.toml are invalid: it cannot be read"):
        load_dependencies(tmp_path / "deps.toml")
    with pytest.raises(OstrakaError, match="cannot be written"):
        write_dependencies(ODD, tmp_path / "nowhere" / "deps.toml")
