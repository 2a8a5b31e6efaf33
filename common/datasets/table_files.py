"""Records in .csv and .parquet files: one column per feature, and one for the class or one per label."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostraka.common.archives import UnpackingError, check_unpacked
from ostraka.common.datasets.classes import index_labels
from ostraka.common.datasets.consent import COLUMN
from ostraka.common.datasets.dataset import Dataset, from_arrays
from ostraka.common.datasets.label_columns import zeros_and_ones
from ostraka.common.errors import ErrorCode, OstrakaError

FLOAT_BYTES = 4
"""What a value takes at least, once it is read."""


def read_table(path: Path) -> pa.Table:
    """Read the file's table; raise `data.unreadable` where it cannot be parsed."""
    import pyarrow.csv
    import pyarrow.parquet

    try:
        if path.suffix == ".csv":
            return pyarrow.csv.read_csv(path)
        claimed = pyarrow.parquet.read_metadata(path)
        check_unpacked(claimed.num_rows * claimed.num_columns * FLOAT_BYTES, path.stat().st_size)
        return pyarrow.parquet.read_table(path)
    except UnpackingError as exc:
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE, f"{path} is not read, {exc}: write it as .csv or .npz."
        ) from exc
    except (pa.ArrowException, OSError) as exc:
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE,
            f"{path} cannot be read as {path.suffix[1:]}: check its rows and header.",
        ) from exc


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
    Labels that are `ignored` are 0, and need no column.
    """
    _require_distinct(table.column_names, source)
    labels = (label,) if isinstance(label, str) else label
    levels = _levels(table) if consent and COLUMN in table.column_names else None
    no_features = labels if levels is None else (*labels, COLUMN)
    columns = tuple(name for name in table.column_names if name not in no_features)
    features = [_numbers(table, name, source) for name in columns]
    y = None
    if not isinstance(label, str):
        y, classes = _label_columns(table, label, source, ignored), label
    elif label in table.column_names:
        y, classes = index_labels(_values(table, label, source), classes, source)
    X = np.stack(features, axis=1) if features else np.empty((table.num_rows, 0), np.float32)
    return from_arrays(X, y, columns=columns, classes=classes, consent=levels, source=source)


def _require_distinct(names: list[str], source: str) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"{source} has two columns '{repeated[0]}': give every column its own name.",
        )


def _label_columns(
    table: pa.Table, labels: tuple[str, ...], source: str, ignored: Collection[str]
) -> NDArray[np.int64] | None:
    """0 and 1 by label, (N, k), or None where the table has a column for none of them."""
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
    columns = {name: zeros_and_ones(_values(table, name, source), name, source) for name in needed}
    return np.stack([columns.get(name, nothing) for name in labels], axis=1)


def _levels(table: pa.Table) -> NDArray[Any]:
    """Consent levels as the table has them; empty where one is missing."""
    return np.array(["" if level is None else level for level in table[COLUMN].to_pylist()])


def _numbers(table: pa.Table, name: str, source: str) -> NDArray[np.float32]:
    """One column as float32, missing values as NaN so that they are reported like any other."""
    column = table[name]
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        if column.null_count == len(column):
            return np.full(len(column), np.nan, np.float32)
        raise OstrakaError(
            ErrorCode.DATA_NOT_NUMERIC,
            f"{source} has {kind} in column '{name}': turn it into numbers, or drop the column.",
            column=name,
        )
    with np.errstate(over="ignore"):
        numbers: NDArray[np.float32] = column.cast(pa.float64(), safe=False).to_numpy().astype(np.float32)
    return numbers


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
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    values: NDArray[Any] = column.to_numpy()
    return values
