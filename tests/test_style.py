"""The house stays as plain as it is: counts of `tests/style.py` may only shrink."""

from __future__ import annotations

import pytest

from tests import style

AT_MOST = {"participles": 47, "packed": 0, "unexplained": 0, "least_and_most": 0, "design": 0}
REASONS_AT_LEAST = 380
"""Comments that say why; there were 39 lines in 80,000 once."""


@pytest.mark.heavy
@pytest.mark.parametrize("count", AT_MOST)
def test_there_is_no_more_of_it(count: str) -> None:
    found = style.places(count)
    assert len(found) <= AT_MOST[count], "\n".join(map(str, found))


@pytest.mark.heavy
def test_reasons_are_written_down() -> None:
    assert len(style.places("comments")) >= REASONS_AT_LEAST


@pytest.mark.parametrize(
    ("count", "text", "names"),
    [
        (
            "participles",
            "def asked(): ...\ndef given_away(): ...\ndef feed(): ...",
            ["asked", "given_away"],
        ),
        ("participles", "class A:\n    @property\n    def closed(self): ...", []),
        ("packed", "a, b = f(), g()\nc = d = 1\ne, f = pair()", ["(a, b)"]),
        ("unexplained", "A = 3\nB = 4\n'''Why.'''\nC = 5  # why\n# why\nD = 6\nE_S = 7\nF = len(x)", ["A"]),
        ("least_and_most", "MOST_ROWS = 1\nMAX_ROWS = 1\nALMOST = 1", ["MOST_ROWS"]),
        ("comments", "a = 1  # why\nb = 1  # noqa: E501\n'# no comment'", [""]),
        ("design", "# DESIGN section 2\nDESIGNED = 1", ["# DESIGN section 2"]),
    ],
)
def test_what_counts_is_found(count: str, text: str, names: list[str]) -> None:
    assert [place.name for place in style.COUNTS[count]("file.py", text)] == names
