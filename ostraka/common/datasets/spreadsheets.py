"""Tables in Excel workbooks (.xlsx), read by python-calamine."""

from __future__ import annotations

import datetime
import re
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from ostraka.common.console.texts import list_words
from ostraka.common.datasets.number_columns import read_numbers
from ostraka.common.datasets.plain_columns import name_columns
from ostraka.common.datasets.reading import Origin, Reading
from ostraka.common.datasets.unreadable import TwoReadingsError, UnreadableValuesError
from ostraka.common.datasets.word_columns import NUMBER
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.archives import check_zip_file

Cell: TypeAlias = (
    str | float | bool | datetime.datetime | datetime.date | datetime.time | datetime.timedelta | None
)
_FIRST_SHEET = re.compile(r'<(?:\w+:)?sheet\b[^>]*?\br:id="([^"]+)"')
_RELATION = re.compile(r"<(?:\w+:)?Relationship\b[^>]*>")
_TARGET = re.compile(r'\bTarget="/?(?:xl/)?([^"]+)"')
_UNCOMPUTED = re.compile(
    rb'<(?:\w+:)?c\b(?![^>]*\bt="str")[^>]*>\s*<(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)'
    rb"\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
"""A formula cell without the value that a program stores after computing it; text may be empty."""
_FORMULA = re.compile(rb"<(?:\w+:)?f\b")
_COMPUTED_ON_OPENING = re.compile(r'<(?:\w+:)?calcPr\b[^>]*\bfullCalcOnLoad="(?:1|true)"')
"""What programs write that compute no formula; a spreadsheet program computes them, and takes it out."""
_ERROR = re.compile(rb'<(?:\w+:)?c\b[^>]*\bt="e"')
_HIDDEN_ROW = re.compile(rb'<(?:\w+:)?row\b[^>]*\bhidden="(?:1|true)"[^>]*(?<!/)>')
"""A hidden row with cells."""
_HIDDEN_COLUMNS = re.compile(rb'<(?:\w+:)?col\b(?=[^>]*\bhidden="(?:1|true)")[^>]*\bmin="(\d+)"')
"""Adjacent hidden columns; the group is the number of the first one, counted from 1."""
_WHOLE_FLOATS = 2**53
"""Whole numbers beyond this have lost digits in Excel's storage."""


def read_xlsx(file: Path) -> tuple[pa.Table, Origin, Reading]:
    """Return the columns of a workbook's first sheet, the positions of its rows, and what was left out.

    The first row that is not empty contains the column names. A column with cells of one kind has that kind.
    A column of several kinds is text, with numbers in one notation; if they have two readings,
    `Reading.ambiguous` says so. Cells that are merged in a column have one value.

    Raises:
        OstrakaError: `data.unreadable` if the extra `excel` is not installed, if the file is not a workbook,
            or if the sheet is empty; `data.too_few` if the first sheet has no records but there are other
            sheets; `data.shape` as in `name_columns`.
    """
    try:
        from python_calamine import CalamineError, SheetVisibleEnum, load_workbook
    except ImportError as exc:
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE,
            f"{file} needs the extra `excel`: install it with pip install 'ostraka[excel]', or save the"
            " table as .csv.",
        ) from exc
    check_zip_file(file)
    try:
        book = load_workbook(file)
        sheet = book.get_sheet_by_index(0)
        rows: list[list[Any]] = sheet.to_python(skip_empty_area=True)
    except CalamineError as exc:
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE, f"{file} cannot be read as .xlsx: save it again, or as .csv."
        ) from exc
    if not rows:
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE, f"{file} has nothing in its first sheet '{sheet.name}'."
        )
    start = sheet.start or (0, 0)
    merged = _fill_merged(rows, sheet.merged_cell_ranges or (), start)
    header, *records = rows
    others = [name for name in book.sheet_names if name != sheet.name]
    # Rows without a filled cell are the space below a table, or between its parts.
    places = [at for at, record in enumerate(records) if any(_is_filled(cell) for cell in record)]
    if not places and others:
        raise OstrakaError(
            ErrorCode.DATA_TOO_FEW,
            f"{file} has no records in its first sheet '{sheet.name}', and no other one is read: move the"
            f" sheet of records before {list_words(others)}, or to a workbook of its own.",
        )
    ambiguous = {}
    columns = []
    for column, cell in enumerate(header):
        try:
            columns.append(_column([records[at][column] for at in places]))
        except TwoReadingsError as exc:
            readings, _, _ = str(exc).partition("? ")
            ambiguous[unicodedata.normalize("NFC", _text(cell) or "").strip()] = (
                f"{readings}? Make all its cells numbers, or all of them text"
            )
            columns.append(pa.nulls(len(places), pa.string()))
    table = pa.table(columns, names=[str(at) for at in range(len(header))])
    named, left_out = name_columns(table, [_text(cell) or "" for cell in header], str(file))
    if others:
        left_out = (*left_out, f"the workbook's other sheets, {', '.join(others)}")
    cells = _first_sheet(file)
    left_out = (*left_out, *_empty_cells(cells))
    read_too = (*_find_formulas(file, cells), *_find_hidden(cells, start[1] + len(header)))
    if merged:
        read_too = (f"{merged} cells that are merged with one above them, as its value", *read_too)
    if book.sheets_metadata[0].visible != SheetVisibleEnum.Visible:
        read_too = (f"the first sheet '{sheet.name}', though it is hidden", *read_too)
    first = start[0] + 2  # rows of a sheet are counted from 1, and the header is the first
    return (
        named,
        Origin(str(file), lambda row: first + places[row]),
        Reading(sheet=sheet.name, left_out=left_out, read_too=read_too, ambiguous=ambiguous),
    )


def _first_sheet(file: Path) -> bytes:
    """Return the XML of a workbook's first sheet; empty if the sheet is not where the workbook says."""
    with zipfile.ZipFile(file) as parts:
        sheet = _FIRST_SHEET.search(parts.read("xl/workbook.xml").decode())
        relations = _RELATION.findall(parts.read("xl/_rels/workbook.xml.rels").decode())
        named = [one for one in relations if sheet is not None and f'Id="{sheet[1]}"' in one]
        target = _TARGET.search(named[0]) if named else None
        if target is None or f"xl/{target[1]}" not in parts.namelist():
            return b""
        return parts.read(f"xl/{target[1]}")


def _empty_cells(cells: bytes) -> Iterator[str]:
    """Yield a phrase for each kind of cell that python-calamine reads as empty."""
    for pattern, what in (
        (_UNCOMPUTED, "formulas whose values are not stored: open it in a spreadsheet program, and save it"),
        (_ERROR, "errors such as #DIV/0!: correct them, or leave them empty"),
    ):
        count = len(pattern.findall(cells))
        if count:
            yield f"{count} cells, which count as missing, of {what}"


def _find_formulas(file: Path, cells: bytes) -> Iterator[str]:
    """Yield a phrase if formulas have values that no spreadsheet program computed; they may all be 0."""
    with zipfile.ZipFile(file) as parts:
        workbook = parts.read("xl/workbook.xml").decode()
    count = len(_FORMULA.findall(cells)) - len(_UNCOMPUTED.findall(cells))
    if count and _COMPUTED_ON_OPENING.search(workbook):
        yield (
            f"{count} formulas whose values may not be computed yet, and be 0: open it in a spreadsheet"
            " program, and save it"
        )


def _find_hidden(cells: bytes, width: int) -> Iterator[str]:
    """Yield a phrase for each kind of hidden row or column; `width` is the last column of the table."""
    rows = len(_HIDDEN_ROW.findall(cells))
    if rows:
        yield f"{rows} rows that are hidden: take them out where they are no records"
    if any(int(first) <= width for first in _HIDDEN_COLUMNS.findall(cells)):
        yield "columns that are hidden"


def _is_filled(cell: Cell) -> bool:
    return cell is not None and (not isinstance(cell, str) or bool(cell.strip()))


def _fill_merged(
    rows: list[list[Cell]], merged: Iterable[tuple[tuple[int, int], tuple[int, int]]], start: tuple[int, int]
) -> int:
    """Give each merged cell of a column the value of the cell above it; return their number."""
    filled = 0
    for (top, left), (bottom, _) in merged:
        column = left - start[1]
        filled += bottom - top
        for row in range(top + 1, bottom + 1):
            rows[row - start[0]][column] = rows[top - start[0]][column]
    return filled


def _column(cells: Sequence[Cell]) -> pa.Array:
    """Return cells of one kind as they are, and mixed cells as text; empty cells as null.

    Raises `TwoReadingsError` for ambiguous text beside numbers.
    """
    filled = [cell if _is_filled(cell) else None for cell in cells]
    kinds = {_KINDS.get(type(cell), pa.string()) for cell in filled if cell is not None}
    kind = kinds.pop() if len(kinds) == 1 else pa.string()
    if kind == pa.string():
        mixed = any(isinstance(cell, float) for cell in filled)
        return pa.array([_text(cell) for cell in (_tell_numbers(filled) if mixed else filled)], kind)
    if kind == _TIME:
        # Works for days and times alike; a time counts as its day, too.
        return pa.array([None if cell is None else str(cell) for cell in filled]).cast(kind)
    return pa.array(filled, kind)


def _tell_numbers(cells: Sequence[Cell]) -> list[Cell]:
    """Convert text such as 1,5 to numbers; number cells do not show the notation of text cells."""
    written = pa.chunked_array([[cell if isinstance(cell, str) else None for cell in cells]], pa.string())
    try:
        numbers = read_numbers(written, point_is_decimal=False).values
    except TwoReadingsError:
        raise
    except UnreadableValuesError:
        return list(cells)
    return [
        number if isinstance(cell, str) and _is_oddly_written(cell) else cell
        for cell, number in zip(cells, numbers.tolist(), strict=True)
    ]


def _is_oddly_written(cell: str) -> bool:
    """Whether a number in text is not written as programs write it; "true" and "NA" stay as they are."""
    return re.search(r"\d", cell) is not None and not re.fullmatch(NUMBER, cell.strip(), re.ASCII)


_TIME = pa.timestamp("us")
_KINDS: dict[type, pa.DataType] = {
    bool: pa.bool_(),
    float: pa.float64(),
    int: pa.float64(),
    datetime.datetime: _TIME,
    datetime.date: _TIME,
}


def _text(cell: Cell) -> str | None:
    """Return a cell as a text file would contain it."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _WHOLE_FLOATS:
        return str(int(cell))
    return None if cell is None else str(cell)
