"""The table "How to add something": it names files that exist, and rows that are carried out."""

import re
from pathlib import Path

import pytest

from tests.contributing.tree import PATH, ROOT, rows

ROW = re.compile(r'Tree\.copy\(.*?"([^"]+)"\)|copy\("([^"]+)"\)')


@pytest.mark.parametrize("what", rows())
def test_every_file_that_is_named_exists(what: str) -> None:
    named = PATH.findall(rows()[what])
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert named


def test_the_first_six_rows_are_carried_out() -> None:
    texts = [path.read_text() for path in Path(__file__).parent.glob("test_*.py")]
    done = {first or second for text in texts for first, second in ROW.findall(text)}
    assert done == set(list(rows())[:6])
    introduction = (ROOT / "CONTRIBUTING.md").read_text()
    assert "`tests/contributing` does what the first six rows say" in introduction
