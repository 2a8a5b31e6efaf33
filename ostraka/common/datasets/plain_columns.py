"""Conversion of any Arrow table to columns of a few plain types, before any value is read."""

from __future__ import annotations

import datetime
import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from ostraka.common.datasets.reading import Origin
from ostraka.common.datasets.table_files import Frame, require_distinct
from ostraka.common.errors import ErrorCode, OstrakaError

_MIXED = re.compile(r"Conversion failed for column (.+) with type")
"""Arrow's message about a column of a data frame."""


def plain_table(
    frame: Frame | Mapping[str, NDArray[Any]], source: Origin | str
) -> tuple[pa.Table, tuple[str, ...]]:
    """Return a table of plain columns with tidy names, and a phrase for each thing that was left out.

    Views, dictionaries and large types become plain text and numbers. The index that pandas adds to a data
    frame is left out, and so is a column of row numbers without a name.

    Raises:
        OstrakaError: `data.unreadable` if the frame is not a table, `data.shape` for two columns of one name.
    """
    table = _arrow_table(frame, source)
    index = _nameless_index(table)
    kept = [at for at, name in enumerate(table.column_names) if name not in index]
    plain = plain_types(table.select(kept))
    named, left_out = name_columns(plain, plain.column_names, source)
    return named, (*(("the row numbers that pandas calls the index",) if index else ()), *left_out)


def plain_types(table: pa.Table) -> pa.Table:
    """Return the table with plain columns for views, dictionaries, large types and named extensions."""
    columns = [_plain(table.column(at)) for at in range(table.num_columns)]
    return pa.Table.from_arrays(columns, names=table.column_names)


def name_columns(table: pa.Table, names: list[str], source: Origin | str) -> tuple[pa.Table, tuple[str, ...]]:
    """Return the table with these names, trimmed and composed (Unicode NFC), and what was left out.

    Columns without a name are left out, such as the row numbers of pandas and R. Raises `data.shape` for a
    name that occurs twice.
    """
    tidy = [unicodedata.normalize("NFC", name).strip() for name in names]
    kept = [at for at, name in enumerate(tidy) if name]
    left_out = tuple(f"column {at + 1}, which has no name" for at, name in enumerate(tidy) if not name)
    require_distinct([tidy[at] for at in kept], str(source))
    return table.select(kept).rename_columns([tidy[at] for at in kept]), left_out


def _arrow_table(frame: Frame | Mapping[str, NDArray[Any]], source: Origin | str) -> pa.Table:
    if type(frame).__name__ == "LazyFrame":
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE,
            f"{source} is a lazy frame without records: give what its collect() returns.",
        )
    try:
        return pa.table(_keep_zones(frame))
    except (pa.ArrowException, TypeError, ValueError) as exc:
        raise _no_table(" ".join(map(str, exc.args)), source) from exc


def _keep_zones(frame: Any) -> Any:
    """Return a pandas frame in which times of several zones are text; Arrow would convert the zones."""
    kinds = getattr(frame, "dtypes", ())
    objects = (
        [at for at, kind in enumerate(kinds) if str(kind) == "object"] if hasattr(frame, "isetitem") else []
    )
    kept = frame.copy(deep=False) if objects else frame
    for at in objects:
        cells = frame.iloc[:, at]
        zones = {cell.tzinfo for cell in cells if isinstance(cell, datetime.datetime) and cell == cell}
        if len(zones) > 1:
            kept.isetitem(at, cells.map(_as_written))
    return kept


def _as_written(cell: object) -> object:
    if not isinstance(cell, datetime.datetime):
        return cell
    return str(cell) if cell == cell else None


def _no_table(why: str, source: Origin | str) -> OstrakaError:
    """Return the refusal of a frame that Arrow does not accept as a table, based on Arrow's reasons."""
    mixed = _MIXED.search(why)
    if mixed:
        return OstrakaError(
            ErrorCode.DATA_UNREADABLE,
            f"{source} has values of several kinds, or of an unknown kind, in column '{mixed[1]}': make"
            " all of them numbers, or text.",
            column=mixed[1],
        )
    if "unsupported format string" in why:
        return OstrakaError(
            ErrorCode.DATA_UNREADABLE,
            f"{source} has a column of a type that Arrow does not have, such as Int128: convert it to"
            " whole numbers of 64 bits, or to text.",
        )
    if "Duplicate column names" in why:
        return OstrakaError(
            ErrorCode.DATA_SHAPE, f"{source} has two columns of one name: give every column its own."
        )
    return OstrakaError(
        ErrorCode.DATA_UNREADABLE, f"{source} is not a table: give one of pyarrow, pandas or polars."
    )


def _nameless_index(table: pa.Table) -> set[str]:
    """Return the columns that pandas' metadata calls an index, and that pandas named itself."""
    notes = (table.schema.metadata or {}).get(b"pandas")
    if notes is None:
        return set()
    try:
        index = json.loads(notes).get("index_columns", [])
    except (ValueError, AttributeError):
        return set()
    return {name for name in index if isinstance(name, str) and name.startswith("__index_level_")}


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without dictionaries, views, large types, and extensions that only add a name."""
    kind = column.type
    types = pa.types
    if types.is_dictionary(kind):
        chunks = [_decode(chunk) for chunk in column.chunks]
        return _plain(pa.chunked_array(chunks, type=chunks[0].type if chunks else pa.null()))
    if isinstance(kind, pa.BaseExtensionType):
        named = kind.extension_name in ("arrow.bool8", "arrow.json")
        return _plain(_storage(column)) if named else column
    if types.is_large_string(kind) or types.is_string_view(kind):
        return column.cast(pa.string())
    return column


def _decode(chunk: pa.DictionaryArray) -> pa.Array:
    """Return the values of a dictionary's indices; the dictionary becomes plain, as views lack `take`."""
    words = _plain(pa.chunked_array([chunk.dictionary])).combine_chunks()
    return words.take(chunk.indices)


def _storage(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    stored = pa.chunked_array([chunk.storage for chunk in column.chunks], type=kind.storage_type)
    return stored.cast(pa.bool_()) if kind.extension_name == "arrow.bool8" else stored
