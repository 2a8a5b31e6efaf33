"""Label columns: text or number turned into class indices, or 0 and 1 for every label."""

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


def index_labels(
    values: NDArray[Any], classes: tuple[str, ...] | None, source: str
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Class indices of labels that are class names, shape (N,), and the names they refer to.

    Without `classes` every name that occurs is a class, numbers in numeric order. Integers are indices where
    `classes` are given and are not themselves integers. Raises `data.label_range` naming the first row whose
    label is no class.
    """
    values = _whole(values, source)
    if classes and values.dtype.kind in "biu" and not all(map(_is_integer, classes)):
        require_in_range(values, len(classes), source)
        return values.astype(np.int64), classes
    names = [str(value) for value in values.tolist()]
    known = classes or _sort_names(set(names))
    position = {name: index for index, name in enumerate(known)}
    found = np.array([position.get(name, -1) for name in names], dtype=np.int64)
    if (found < 0).any():
        row = int(np.argmin(found))
        raise _no_class(repr(names[row]), row, "one of " + ", ".join(known), source)
    return found, known


def require_in_range(y: NDArray[np.integer[Any]], classes: int | None, source: str) -> None:
    """Raise `data.label_range` naming the first of the class indices y (N,) outside 0..classes-1."""
    outside = (y < 0) if classes is None else (y < 0) | (y >= classes)
    if outside.any():
        row = int(np.argmax(outside))
        allowed = "0 or more" if classes is None else f"0 to {classes - 1}"
        raise _no_class(str(y[row]), row, allowed, source)


def _whole(values: NDArray[Any], source: str) -> NDArray[Any]:
    """Labels that a file stores as floats become integers where they are whole."""
    if values.dtype.kind != "f":
        return values
    broken = ~np.isfinite(values) | (values != np.trunc(values))
    if broken.any():
        row = int(np.argmax(broken))
        raise _no_class(str(values[row]), row, "whole numbers or names", source)
    return values.astype(np.int64)


def _is_integer(name: str) -> bool:
    return name.removeprefix("-").isdecimal()


def _sort_names(names: set[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=int) if all(map(_is_integer, names)) else sorted(names))


def _no_class(label: str, row: int, allowed: str, source: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.DATA_LABEL_RANGE,
        f"{source} has label {label} in row {row}, but labels are {allowed}: correct it or drop the row.",
        row=str(row),
    )
