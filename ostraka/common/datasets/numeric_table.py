"""Records in a table of numbers that no task describes."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ostraka.common.console.texts import listed
from ostraka.common.datasets.consent import COLUMN
from ostraka.common.datasets.dataset import Dataset, from_arrays
from ostraka.common.datasets.table_labels import class_labels, label_columns, levels
from ostraka.common.errors import ErrorCode, OstrakaError

if TYPE_CHECKING:
    import pyarrow as pa


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
    with np.errstate(over="ignore"):
        numbers: NDArray[np.float32] = column.cast(pa.float64(), safe=False).to_numpy().astype(np.float32)
    return numbers
