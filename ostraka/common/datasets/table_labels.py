"""Labels and consent levels in columns of a table."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets.consent import COLUMN
from ostraka.common.datasets.label_columns import index_labels, zeros_and_ones
from ostraka.common.errors import ErrorCode, OstrakaError

if TYPE_CHECKING:
    import pyarrow as pa


def class_labels(
    table: pa.Table, label: str, classes: tuple[str, ...] | None, source: str
) -> tuple[NDArray[np.int64] | None, tuple[str, ...] | None]:
    """Return class indices (N,) and the classes' names; no indices where there is no such column.

    Raises `data.nan` for a record without label, and `data.label_range` for one that is no class.
    """
    if label not in table.column_names:
        return None, classes
    return index_labels(_values(table, label, source), classes, source)


def label_columns(
    table: pa.Table, labels: tuple[str, ...], source: str, ignored: Collection[str]
) -> NDArray[np.int64] | None:
    """Return 0, 1 or UNKNOWN by label, (N, k), or None where the table has a column for none of them.

    Labels that are `ignored` are 0, and need no column. Raises `data.shape` where some have no column.
    """
    needed = [name for name in labels if name not in ignored]
    missing = [name for name in needed if name not in table.column_names]
    if len(missing) == len(needed):
        return None
    if missing:
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"{source} has columns for {len(needed) - len(missing)} of {len(needed)} labels, and none for "
            f"'{missing[0]}': give one column per label, or drop them all.",
            label=missing[0],
        )
    nothing = np.zeros(table.num_rows, np.int64)
    columns = {name: zeros_and_ones(_label(table, name), name, source) for name in needed}
    return np.stack([columns.get(name, nothing) for name in labels], axis=1)


def levels(table: pa.Table) -> NDArray[Any]:
    """Return consent levels as the table has them; empty where one is missing."""
    return np.array(["" if level is None else level for level in table[COLUMN].to_pylist()])


def _label(table: pa.Table, name: str) -> NDArray[Any]:
    """Return one label's values, NaN or empty text where one is missing."""
    import pyarrow as pa

    column = _plain(table[name])
    if column.null_count:
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        column = column.fill_null("") if text else column.cast(pa.float64())
    values: NDArray[Any] = _trim(column).to_numpy()
    return values


def _trim(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text without blanks around it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.utf8_trim_whitespace(column) if pa.types.is_string(column.type) else column


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values of dictionaries, and truth values as 0 and 1."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column


def _values(table: pa.Table, label: str, source: str) -> NDArray[Any]:
    column = table[label]
    if column.null_count:
        row = column.is_null().to_pylist().index(True)
        raise OstrakaError(
            ErrorCode.DATA_NAN,
            f"{source} has no label in row {row}, column '{label}': fill it in or drop the row.",
            column=label,
            row=str(row),
        )
    values: NDArray[Any] = _trim(_plain(column)).to_numpy()
    return values
