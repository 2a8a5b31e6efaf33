"""All cells of all papers, in the papers' order, read from `papers/*.toml`.

A cell's keys are those of `Cell`; `run` names a function of `measures`, `with` its arguments, and `like` one
of the file's `shared` tables, whose keys are the cell's defaults.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.reproduce.cell import Cell, Job, Outcome, Word
from ostraka.common.files.toml import read_toml

FOLDER = Path(__file__).with_name("papers")
PAPERS = ("dziedzic-2023", "tang-2022", "papernot-2018", "muehl-2022", "dodwadmath-2022")
WORLD = "world"
"""The section that compares with other software, without a paper."""


@dataclass(frozen=True)
class Section:
    """A paper, or the section without a paper.

    Attributes:
        id: prefix of its cells' names.
        name: authors and year.
        title: of the paper.
        cells: its cells.
        figures: number of figures in the paper.
        tables: number of tables.
    """

    id: str
    name: str
    title: str
    cells: tuple[Cell, ...]
    figures: int = 0
    tables: int = 0


@cache
def sections() -> tuple[Section, ...]:
    """Return the papers, then the section without a paper."""
    return tuple(map(_section, (*PAPERS, WORLD)))


def cells() -> tuple[Cell, ...]:
    """Return every cell."""
    return tuple(cell for section in sections() for cell in section.cells)


def names_of(paper: Section) -> Iterator[str]:
    """Yield the name of each figure and table of a paper; it is a prefix of its cells' names."""
    for kind, count in (("figure", paper.figures), ("table", paper.tables)):
        yield from (f"{paper.id}-{kind}-{number}" for number in range(1, count + 1))


def is_part(cell: str, whole: str) -> bool:
    """Whether a cell is a figure, table or paper, or a part of it: figure-1-cost is, figure-10 is not."""
    return cell == whole or cell.startswith(f"{whole}-")


def choose(only: list[str]) -> tuple[Cell, ...]:
    """Return the cells with these names, or of figures, tables and papers with these names; default: all."""
    return tuple(cell for cell in cells() if not only or any(is_part(cell.id, name) for name in only))


def _section(name: str) -> Section:
    found = read_toml(FOLDER / f"{name}.toml")
    shared = {"": {}} | found.pop("shared", {})
    made = tuple(_cell(shared[entry.pop("like", "")] | entry) for entry in found.pop("cells"))
    return Section(id=name, cells=made, **found)


def _cell(entry: dict[str, Any]) -> Cell:
    values = _immutable(entry)
    arguments = values.pop("with", {})
    if "run" in values:
        values["run"] = _run(values["run"], arguments)
    if "lacking" in values:
        values["lacking"] = Word(values["lacking"])
    return Cell(**values)


def _run(name: str, arguments: Mapping[str, Any]) -> Callable[[Job], Outcome]:
    module, _, function = name.partition(".")
    found: Callable[[Job], Outcome] = getattr(
        import_module(f"benchmarks.reproduce.measures.{module}"), function
    )
    return partial(found, **_immutable(arguments)) if arguments else found


def _immutable(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
