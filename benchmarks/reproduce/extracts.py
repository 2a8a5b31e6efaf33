"""Tables that other pages of docs generate from the records of docs/reproductions.md, between two marks."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.reproduce.cell import Figure
from benchmarks.reproduce.page import NOT_RUN, figure_text
from benchmarks.reproduce.registry import choose
from benchmarks.reproduce.store import Record, Store

NONE = "-"
_STUDENTS = r"(?P<row>.+), (?P<column>epsilon [\d.]+|no privacy): right, %"
_AGAINST = r"(?P<column>epsilon [\d.]+), (?P<row>[^,]+)(?:, .+)?: right, %"
_LABELS = r"(?P<column>epsilon [\d.]+): right, %"
_MARKED = re.compile(r"(<!-- (?P<name>[a-z0-9-]+): drawn -->\n).*?(?=<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Extract:
    """A table of numbers of some cells.

    Attributes:
        cells: their names.
        figures: regular expression for names of numbers; its groups `row` and `column` are their positions.
        row: the common row name if the expression has no such group.
    """

    cells: tuple[str, ...]
    figures: str
    row: str = ""


def _students(*cells: str) -> Extract:
    return Extract(cells, _STUDENTS)


def _against(cell: str) -> Extract:
    return Extract((cell,), _AGAINST)


EXTRACTS: Mapping[str, Mapping[str, Extract]] = {
    "label-dp-measured.md": {
        "labels-mnist": Extract(("tang-2022-table-2-pate-fm",), _LABELS, "labels of PATE-FM's student"),
        "students-mnist": _students("tang-2022-table-3", "tang-2022-table-3-pate-fm-rows"),
        "students-digits": _students("tang-2022-table-3-digits", "tang-2022-table-3-digits-pate-fm-rows"),
        "students-pairs": _students("tang-2022-table-4", "tang-2022-table-4-pate-fm-rows"),
        "students-optdigits": _students("tang-2022-table-5", "tang-2022-table-5-pate-fm-rows"),
        "against-digits": _against("tang-2022-table-6-cifar10"),
        "against-pairs": _against("tang-2022-table-6-cifar100"),
        "against-optdigits": _against("tang-2022-table-6-cinic10"),
    }
}
"""By page and mark."""


def fill(text: str, extracts: Mapping[str, Extract], store: Store) -> str:
    """Return a page with its marked parts regenerated.

    Raises:
        ValueError: if the page lacks the mark of a table, or has an unknown mark.
    """
    marks = [found["name"] for found in _MARKED.finditer(text)]
    if marks != list(extracts):
        raise ValueError(f"the page has marks for {marks}, and there are tables {list(extracts)}")
    return _MARKED.sub(lambda found: found[1] + _draw(extracts[found["name"]], store), text)


def _draw(extract: Extract, store: Store) -> str:
    """Return a Markdown table and its sources."""
    records = {name: _record(name, store) for name in extract.cells}
    placed = [
        place
        for record in records.values()
        if record and record.outcome
        for place in _place(extract, record.outcome.figures)
    ]
    columns = list(dict.fromkeys(column for _, column, _ in placed))
    by_row: dict[str, dict[str, str]] = {}
    for row, column, figure in placed:
        by_row.setdefault(row, {})[column] = figure_text(figure)
    lines = ["", f"| | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|"] if columns else [""]
    lines += [_line(row, [cells.get(column, NONE) for column in columns]) for row, cells in by_row.items()]
    said = ", ".join(f"`{name}` {_when(record)}" for name, record in records.items())
    return "\n".join([*lines, "", f"{said}", "", ""])


def _place(extract: Extract, figures: Sequence[Figure]) -> list[tuple[str, str, Figure]]:
    """Return the row and column of each number in the table."""
    matches = [(re.fullmatch(extract.figures, figure.name), figure) for figure in figures]
    return [
        (found.groupdict().get("row") or extract.row, found["column"], figure)
        for found, figure in matches
        if found
    ]


def _record(name: str, store: Store) -> Record | None:
    (cell,) = (one for one in choose([name]) if one.id == name)
    return store.whole(cell)


def _when(record: Record | None) -> str:
    return record.ended[:10] if record else NOT_RUN


def _line(name: str, cells: Sequence[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"
