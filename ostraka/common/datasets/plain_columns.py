"""One way from whatever speaks Arrow to columns of few, plain types, before any value is looked at."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ostraka.common.datasets.reading import Origin
from ostraka.common.datasets.table_files import Frame, require_distinct
from ostraka.common.errors import ErrorCode, OstrakaError


def plain_table(
    frame: Frame | Mapping[str, NDArray[Any]], source: Origin | str
) -> tuple[pa.Table, tuple[str, ...]]:
    """Return a table of plain columns with tidy names, and what was left out of it, a phrase each.

    Views, dictionaries and large types become plain text and numbers; the index that pandas adds to a data
    frame is no column, and neither is one of row numbers without a name.

    Raises:
        OstrakaError: `data.unreadable` for what is no table, `data.shape` for two columns of one name, or one
            without any.
    """
    table = _arrow_table(frame, source)
    index = _unnamed_index(table)
    kept = [at for at, name in enumerate(table.column_names) if name not in index]
    plain = plain_types(table.select(kept))
    named, left_out = name_columns(plain, plain.column_names, source)
    return named, (*(("the row numbers that pandas calls the index",) if index else ()), *left_out)


def plain_types(table: pa.Table) -> pa.Table:
    """Return the table with columns of text for views, dictionaries and large types, and so on."""
    columns = [_plain(table.column(at)) for at in range(table.num_columns)]
    return pa.Table.from_arrays(columns, names=table.column_names)


def name_columns(table: pa.Table, names: list[str], source: Origin | str) -> tuple[pa.Table, tuple[str, ...]]:
    """Return the table with these names, trimmed and composed (Unicode NFC), and what was left out.

    A first column without a name, as pandas and R write row numbers, and empty columns without one are left
    out. Raises `data.shape` for another column without a name, and for a name that occurs twice.
    """
    tidy = [unicodedata.normalize("NFC", name).strip() for name in names]
    left_out = []
    unnamed = [at for at, name in enumerate(tidy) if not name]
    for at in unnamed:
        if _is_blank(table.column(at)):
            left_out.append(f"column {at + 1}, which is empty and has no name")
        elif at == 0:
            left_out.append("column 1, which has no name: row numbers or names, as pandas and R write them")
        else:
            raise OstrakaError(
                ErrorCode.DATA_SHAPE,
                f"{source} has no name for column {at + 1} of {len(tidy)}: give every column its own name.",
                column=str(at + 1),
            )
    kept = [at for at in range(len(tidy)) if at not in set(unnamed)]
    require_distinct([tidy[at] for at in kept], str(source))
    return table.select(kept).rename_columns([tidy[at] for at in kept]), tuple(left_out)


def _arrow_table(frame: Frame | Mapping[str, NDArray[Any]], source: Origin | str) -> pa.Table:
    try:
        return pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as exc:
        # Two sentences of Arrow, the second of which names the column.
        why = "; ".join(map(str, exc.args)).replace("\n", " ")
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE,
            f"{source} is no table of columns of one kind each ({why}): give a table of pyarrow, pandas or polars.",
        ) from exc


def _unnamed_index(table: pa.Table) -> set[str]:
    """Return the columns that pandas' notes call an index, and that it named itself."""
    notes = (table.schema.metadata or {}).get(b"pandas")
    if notes is None:
        return set()
    try:
        index = json.loads(notes).get("index_columns", [])
    except (ValueError, AttributeError):
        return set()
    return {name for name in index if isinstance(name, str) and name.startswith("__index_level_")}


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column's values without dictionaries, views, large types and extensions that are only names."""
    kind = column.type
    types = pa.types
    if types.is_dictionary(kind):
        chunks = [_words_of(chunk) for chunk in column.chunks]
        return _plain(pa.chunked_array(chunks, type=chunks[0].type if chunks else kind.value_type))
    if isinstance(kind, pa.BaseExtensionType):
        named = kind.extension_name in ("arrow.bool8", "arrow.json")
        return _plain(_storage(column)) if named else column
    if types.is_large_string(kind) or types.is_string_view(kind):
        return column.cast(pa.string())
    return column


def _words_of(chunk: pa.DictionaryArray) -> pa.Array:
    """Return the values that a dictionary's indices stand for; not by a cast, which knows no views."""
    return chunk.dictionary.take(chunk.indices)


def _storage(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    stored = pa.chunked_array([chunk.storage for chunk in column.chunks], type=kind.storage_type)
    return stored.cast(pa.bool_()) if kind.extension_name == "arrow.bool8" else stored


def _is_blank(column: pa.ChunkedArray) -> bool:
    """Whether a column holds nothing, or text without characters alone."""
    if column.null_count == len(column):
        return True
    if not pa.types.is_string(column.type):
        return False
    return bool(pc.all(pc.equal(pc.utf8_trim_whitespace(column), "")).as_py())
