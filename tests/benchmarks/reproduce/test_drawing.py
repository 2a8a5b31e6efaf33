import re
from pathlib import Path

import pytest

from benchmarks.reproduce.cell import Figure, Outcome
from benchmarks.reproduce.drawing import draw, lines_of
from benchmarks.reproduce.pictures import PICTURES, Picture
from benchmarks.reproduce.registry import cells

NOISE = Picture(r"sigma (?P<x>[\d.]+): queries by (.+)", "sigma", "queries")
BARS = Picture(r"(\w+), (?P<x>[a-z ]+): BAC, %", "%", "")
FOUND = Outcome(
    (
        Figure("sigma 3: queries by Binary", (34.0, 36.0), 40.0),
        Figure("sigma 7.5: queries by Binary", (68.0,)),
        Figure("sigma 3: queries by tau, L2", (31.0,)),
        Figure("Binary, many voters: BAC, %", (59.0,), 61.0),
        Figure("Binary, few voters: BAC, %", (52.0,)),
        Figure("labels", (5.0,)),
    )
)


def drawn(picture: Picture, file: Path, outcome: Outcome = FOUND) -> str:
    draw(picture, outcome, file)
    return file.read_text()


def test_numbers_are_told_apart_by_line_and_x_and_others_are_left_out() -> None:
    lines = lines_of(NOISE, FOUND)
    assert {line: list(points) for line, points in lines.items()} == {
        "Binary": ["3", "7.5"],
        "tau, L2": ["3"],
    }
    assert lines["Binary"]["3"].mean == 35.0
    assert list(lines_of(BARS, FOUND)["Binary"]) == ["many voters", "few voters"]


@pytest.mark.parametrize(
    ("picture", "words"),
    [(NOISE, ("sigma", "queries", "Binary", "tau, L2")), (BARS, ("many voters", "few voters"))],
)
def test_a_picture_says_its_axes_and_lines_and_is_the_same_each_time(
    picture: Picture, words: tuple[str, ...], tmp_path: Path
) -> None:
    first = drawn(picture, tmp_path / "a.svg")
    assert all(f">{word}</text>" in first for word in words)
    (tmp_path / "again").mkdir()
    assert drawn(picture, tmp_path / "again" / "a.svg") == first


@pytest.mark.parametrize("picture", [NOISE, BARS])
def test_what_the_paper_prints_is_one_more_mark(picture: Picture, tmp_path: Path) -> None:
    without = Outcome(tuple(Figure(one.name, one.values) for one in FOUND.figures))
    marks = [drawn(picture, tmp_path / "a.svg", one).count("fill-opacity: 0") for one in (FOUND, without)]
    assert marks[0] > marks[1]


def test_pictures_are_of_cells_that_are_made_and_know_where_x_is() -> None:
    made = {cell.id for cell in cells() if cell.run}
    assert set(PICTURES) <= made
    assert all("x" in re.compile(picture.names).groupindex for picture in PICTURES.values())
