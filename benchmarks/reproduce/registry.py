"""All cells of all papers, in the papers' order."""

from collections.abc import Iterator
from types import ModuleType

from benchmarks.reproduce.cell import Cell
from benchmarks.reproduce.papers import (
    dodwadmath_2022,
    dziedzic_2023,
    muehl_2022,
    papernot_2018,
    tang_2022,
    world,
)

PAPERS = (dziedzic_2023, tang_2022, papernot_2018, muehl_2022, dodwadmath_2022)
"""Each has NAME, TITLE, how many FIGURES and TABLES the paper has, and CELLS."""
SECTIONS = (*PAPERS, world)
"""Each has NAME, TITLE and CELLS."""


def cells() -> tuple[Cell, ...]:
    """Return every cell."""
    return tuple(cell for section in SECTIONS for cell in section.CELLS)


def names_of(paper: ModuleType) -> Iterator[str]:
    """Yield the name of each figure and table of a paper; cells of its parts begin with it."""
    name = paper.__name__.rpartition(".")[2].replace("_", "-")
    for kind, numbers in (("figure", paper.FIGURES), ("table", paper.TABLES)):
        yield from (f"{name}-{kind}-{number}" for number in numbers)


def is_part(cell: str, whole: str) -> bool:
    """Whether a cell is a figure, table or paper, or a part of it: figure-1-cost is, figure-10 is not."""
    return cell == whole or cell.startswith(f"{whole}-")


def choose(only: list[str]) -> tuple[Cell, ...]:
    """Return the cells of these names, or of figures, tables and papers of these names; all of none."""
    return tuple(cell for cell in cells() if not only or any(is_part(cell.id, name) for name in only))
