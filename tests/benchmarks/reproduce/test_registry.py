from collections import Counter
from pathlib import Path

import pytest

from benchmarks.get_data import DATA_SETS
from benchmarks.reproduce.cell import Word
from benchmarks.reproduce.definitions import ROOT, read_module
from benchmarks.reproduce.registry import PAPERS, WORLD, cells, choose, is_part, names_of, sections
from benchmarks.reproduce.source import settings_of

LISTED = {
    "Dziedzic et al. 2023": (19, 12),
    "Tang et al. 2022": (2, 9),
    "Papernot et al. 2018": (7, 0),
    "Mühl and Boenisch 2022": (4, 10),
    "Dodwadmath and Stich 2022": (3, 1),
}
"""Figures and tables that the papers number."""


def test_every_figure_and_table_of_every_paper_has_a_cell() -> None:
    assert {one.name: (one.figures, one.tables) for one in sections() if one.id in PAPERS} == LISTED
    for paper in sections()[:-1]:
        names = list(names_of(paper))
        assert len(names) == sum(LISTED[paper.name])
        assert [name for name in names if not any(is_part(cell.id, name) for cell in paper.cells)] == []
        assert [cell.id for cell in paper.cells if not any(is_part(cell.id, name) for name in names)] == []


def test_names_are_unique() -> None:
    assert [name for name, times in Counter(cell.id for cell in cells()).items() if times > 1] == []


@pytest.mark.parametrize("cell", cells(), ids=lambda cell: cell.id)
def test_a_cell_is_made_or_says_why_not(cell) -> None:  # type: ignore[no-untyped-def]
    assert cell.shows
    assert cell.paper
    if cell.run is None:
        assert cell.lacking in (Word.AGREEMENT, Word.NOT_PUBLISHED, Word.NOTHING)
        assert cell.why
    else:
        assert cell.lacking is None
        assert callable(cell.run)
        assert cell.data
        module, name, _ = settings_of(cell.run)
        assert module.startswith("benchmarks.reproduce.measures.")
        assert not name.startswith("_")
        read = read_module(module)
        assert read is not None
        assert name in read.bound
        assert set(cell.needs) <= {one.file for one in DATA_SETS}
    if cell.page:
        assert Path(ROOT, "docs", cell.page).is_file()


def test_what_is_no_papers_has_a_name_of_its_own() -> None:
    world = sections()[-1]
    assert world.id == WORLD
    assert all(cell.id.startswith("world-") for cell in world.cells)
    assert choose(["world"]) == world.cells


def test_all_in_small_is_a_matter_of_minutes() -> None:
    """By the processor time that each cell was measured to take."""
    assert sum(cell.seconds[0] for cell in cells() if cell.run) < 300


def test_cells_are_chosen_by_their_name_that_of_their_table_or_paper() -> None:
    assert {cell.id for cell in choose(["tang-2022-table-2"])} == {
        "tang-2022-table-2-rand-res",
        "tang-2022-table-2-pate-fm",
        "tang-2022-table-2-pate-fm-digits",
    }
    assert [cell.id for cell in choose(["muehl-2022-table-1"])] == ["muehl-2022-table-1"]
    assert len(choose(["dodwadmath-2022"])) == 4
    assert choose([]) == cells()
    assert choose(["muehl-2022-table-11"]) == ()
