"""Multi-label records: one column of 0 and 1 for every label."""

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError

UNKNOWN = -1
"""Stands for a label that nobody knows whether a record has."""
MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL")
"""Text that stands for a missing value."""


def default_names(labels: int) -> tuple[str, ...]:
    """Return the names of labels without names: label0, label1, ..."""
    return tuple(f"label{index}" for index in range(labels))


def label_matrix(y: NDArray[Any], names: tuple[str, ...] | None, source: str) -> NDArray[np.int64]:
    """Labels y (N, k) as int64: 0, 1, or UNKNOWN where one is missing (NaN).

    Raises `data.shape` unless there are as many columns as `names`, and `data.label_range` naming the label
    and the row of the first value that is none of them.
    """
    names = names or default_names(y.shape[1])
    if len(names) != y.shape[1]:
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"{source} has {y.shape[1]} columns of labels for {len(names)} labels: give each label one.",
        )
    columns = [zeros_and_ones(y[:, index], name, source) for index, name in enumerate(names)]
    return np.stack(columns, axis=1)


def zeros_and_ones(values: NDArray[Any], label: str, source: str) -> NDArray[np.int64]:
    """One label's column (N,) of numbers, truth values or text as int64; errors as in `label_matrix`."""
    number = values.dtype.kind in "biuf"
    column = values if number else values.astype(str)
    if values.dtype.kind == "f":
        column = np.where(np.isnan(values), UNKNOWN, values)
    elif not number:
        column = np.where(np.isin(column, MISSING), str(UNKNOWN), column)
    wrong = ~np.isin(column, (0, 1, UNKNOWN) if number else ("0", "1", str(UNKNOWN)))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise OstrakaError(
            ErrorCode.DATA_LABEL_RANGE,
            f"{source} has {column[row].item()!r} for label '{label}' in row {row}: give 1 where a record "
            "has the label, 0 where it has not, and nothing where nobody knows.",
            label=label,
            row=str(row),
        )
    return column.astype(np.int64)


def with_zeros(
    y: NDArray[Any],
    stored: tuple[str, ...] | None,
    asked: tuple[str, ...] | None,
    ignored: Collection[str],
) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """Label columns y (N, k) in the order asked, 0 for those `ignored`, which need not be stored.

    As they are stored where nothing is ignored, or where another label is missing.
    """
    names = stored or asked
    if not ignored or asked is None or names is None or len(names) != y.shape[1]:
        return y, stored
    if not set(asked) - set(ignored) <= set(names):
        return y, stored
    nothing = np.zeros(len(y), np.int64)
    columns = [nothing if name in ignored else y[:, names.index(name)] for name in asked]
    return np.stack(columns, axis=1), asked


def in_order(
    y: NDArray[Any], stored: tuple[str, ...] | None, asked: tuple[str, ...] | None
) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """Label columns y (N, k) in the order asked where the stored names are the same, else as stored."""
    if stored is None or asked is None or len(stored) != y.shape[1] or sorted(stored) != sorted(asked):
        return y, stored or asked
    return y[:, [stored.index(name) for name in asked]], asked
