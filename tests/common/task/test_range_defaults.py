"""Ranges that a task file states once, and names to ignore by a wildcard."""

from pathlib import Path

import pyarrow as pa
import pytest

from ostraka.common.errors import OstrakaError
from ostraka.common.task import load_task
from ostraka.common.task.range_defaults import matches

WRITTEN = """\
name = "t"
label = "y"
ignore = ["note_*"]
classes = ["a", "b"]
[input]
kind = "table"
columns = [
    {{ name = "age", min = 0, max = 120{age} }}, {{ name = "gene_1"{gene} }}, {{ name = "crp"{crp} }},
    {{ name = "sex", kind = "boolean" }},
]
"""
DEFAULTS = """
[input.table.defaults]
min = 0
max = 500
clip = true
[input.table.defaults."gene*"]
max = 20
clip = false
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "task.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_default_is_what_columns_would_say_themselves(tmp_path: Path) -> None:
    short = load_task(written(tmp_path, WRITTEN.format(age="", gene="", crp="") + DEFAULTS))
    said = WRITTEN.format(
        age=", clip = true", gene=", min = 0, max = 20", crp=", min = 0, max = 500, clip = true"
    )
    assert short.digest == load_task(written(tmp_path, said)).digest


def test_columns_to_ignore_are_named_by_a_wildcard_that_no_feature_is(tmp_path: Path) -> None:
    task = load_task(written(tmp_path, WRITTEN.format(age="", gene="", crp="") + DEFAULTS))
    rows = {"age": [1], "gene_1": [2], "crp": [3], "sex": [True], "y": ["a"]}
    assert len(task.read(pa.table({**rows, "note_1": ["x"], "note_": ["y"]}))) == 1
    with pytest.raises(OstrakaError, match="drop the column 'notes'"):
        task.read(pa.table({**rows, "notes": ["x"]}))
    text = WRITTEN.format(age="", gene="", crp="").replace("note_*", "*")
    everything = load_task(written(tmp_path, text + DEFAULTS))
    assert len(everything.read(pa.table({**rows, "notes": ["x"]}))) == 1
    with pytest.raises(OstrakaError, match="drop the column 'notes'"):
        everything.read(pa.table({**rows, "*": [1], "notes": ["x"]}))


@pytest.mark.parametrize(
    ("defaults", "said"),
    [
        ("[input.table]\nranges = 1", r"\[input.table\] with other keys than defaults"),
        ("[input.table.defaults]\nmean = 1", "has a key 'mean' in .* takes min, max, clip"),
        ('[input.table.defaults."g*"]\nunit = "x"', "has a key 'unit'"),
        (
            "[input.table.defaults]\nmin = 'a'\nmax = 1",
            "of column 'gene_1' min must be a number, is 'a'; correct it",
        ),
        ('[input.table.defaults."g*"]\nmin = 0\nmax = 1', "the range of 'crp' is open"),
    ],
)
def test_defaults_that_cannot_be_are_told(tmp_path: Path, defaults: str, said: str) -> None:
    with pytest.raises(OstrakaError, match=said):
        load_task(written(tmp_path, WRITTEN.format(age="", gene="", crp="") + defaults))


@pytest.mark.parametrize(
    ("name", "wildcard", "same"),
    [
        ("gene_1", "gene*", True),
        ("gene", "gene*", True),
        ("a-gene", "gene*", False),
        ("note_old", "*_old", True),
        ("a1b2c", "a*b*c", True),
        ("abab", "ab*ab", True),
        ("aba", "ab*ba", False),
        ("x.y", "x?y", False),
        ("a" * 200, "a*" * 100 + "b", False),
    ],
)
def test_a_star_stands_for_any_characters(name: str, wildcard: str, same: bool) -> None:
    assert matches(name, wildcard) is same
