"""Columns of tables: labels, consent, and the numbers of records that no task describes."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.console.texts import listed
from ostraka.common.datasets.consent import COLUMN
from ostraka.common.datasets.dataset import Dataset, from_arrays
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


def dataset_of(
    table: pa.Table,
    label: str | tuple[str, ...],
    classes: tuple[str, ...] | None,
    source: str,
    *,
    consent: bool = False,
    ignored: Collection[str] = (),
) -> Dataset:
    """Return the dataset in a table, without labels where it has no column `label`, or none of several.

    A column `consent` holds consent levels where `consent` is asked for, else it is one like any other.
    Labels that are `ignored` are 0, and need no column. Raises `data.not_numeric` naming all columns that
    hold no numbers.
    """
    labels = (label,) if isinstance(label, str) else label
    asked = levels(table) if consent and COLUMN in table.column_names else None
    no_features = labels if asked is None else (*labels, COLUMN)
    columns = tuple(name for name in table.column_names if name not in no_features)
    _require_numbers(table, columns, source)
    y: NDArray[np.int64] | None
    if isinstance(label, str):
        y, classes = class_labels(table, label, classes, source)
    else:
        y = label_columns(table, label, source, ignored)
        classes = label
    features = [_numbers(table, name) for name in columns]
    X = np.stack(features, axis=1) if features else np.empty((table.num_rows, 0), np.float32)
    return from_arrays(X, y, columns=columns, classes=classes, consent=asked, source=source)


def _require_numbers(table: pa.Table, columns: tuple[str, ...], source: str) -> None:
    wrong = [f"{table[name].type} in column '{name}'" for name in columns if not _is_numeric(table[name])]
    if wrong:
        raise OstrakaError(
            ErrorCode.DATA_NOT_NUMERIC,
            f"{source} has {listed(wrong)}: describe the columns in a task with `ostraka task init`, turn"
            " them into numbers, or drop them.",
            column=next(name for name in columns if not _is_numeric(table[name])),
        )


def _is_numeric(column: pa.ChunkedArray) -> bool:
    import pyarrow as pa

    types = pa.types
    kind = column.type
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    return bool(number or column.null_count == len(column))


def _numbers(table: pa.Table, name: str) -> NDArray[np.float32]:
    """Return one column as float32, missing values as NaN so that they are reported like any other."""
    import pyarrow as pa

    column = table[name]
    if column.null_count == len(column):
        return np.full(len(column), np.nan, np.float32)
    # Numbers too large for float32 become infinite, and are refused as such.
    with np.errstate(over="ignore"):
        numbers: NDArray[np.float32] = column.cast(pa.float64(), safe=False).to_numpy().astype(np.float32)
    return numbers
