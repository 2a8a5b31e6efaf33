"""A site's records in memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets.consent import consent_levels
from ostraka.common.datasets.label_columns import label_matrix, require_in_range
from ostraka.common.datasets.reading import Origin, Reading, place
from ostraka.common.errors import ErrorCode, OstrakaError


@dataclass(frozen=True, eq=False)
class Dataset:
    """Records with their columns and, where they are labelled, their classes or labels.

    Attributes:
        columns: feature names in order, F of them.
        X: float32, shape (N, F); images are flat. Finite, but for NaN where a value is missing that may be.
        y: int64 class indices, shape (N,); of multi-label records 0 or 1 for every label, shape (N, k); or
            None for an unlabelled pool.
        classes: names of the classes by index, or of the k labels; None where the file has none.
        shape: shape of one record before it was flattened, or None for a table.
        consent: the consent level of each record, N of them, or None where the file says none.
        ids: what tells the records apart for whoever brought them, N of them, or None.
        reading: what reading the file or table guessed and left out, or None.
    """

    columns: tuple[str, ...]
    X: NDArray[np.float32]
    y: NDArray[np.int64] | None = None
    classes: tuple[str, ...] | None = None
    shape: tuple[int, ...] | None = None
    consent: tuple[str, ...] | None = None
    ids: tuple[str, ...] | None = None
    reading: Reading | None = None

    def __len__(self) -> int:
        return len(self.X)

    @property
    def multi_label(self) -> bool:
        """Whether a record has a 0 or 1 for every label instead of one class."""
        return self.y is not None and self.y.ndim == 2

    def take(self, rows: NDArray[np.integer[Any]] | slice) -> Self:
        """Return the records at these rows, in that order."""
        y = None if self.y is None else self.y[rows]
        consent, ids = (
            None if words is None else tuple(np.array(words)[rows].tolist())
            for words in (self.consent, self.ids)
        )
        return type(self)(self.columns, self.X[rows], y, self.classes, self.shape, consent, ids)

    def with_codes(self, X: NDArray[np.float32]) -> Self:
        """Return the records with other values (N, F)."""
        return replace(self, X=X)

    def without_labels(self, ignored: Sequence[int]) -> Self:
        """Return multi-label records whose `ignored` labels, by index, are 0."""
        if not ignored or self.y is None:
            return self
        y = self.y.copy()
        y[:, list(ignored)] = 0
        return replace(self, y=y)

    def with_ids(self, ids: Sequence[str]) -> Self:
        """Return the records with these ids; raises `data.shape` unless there is one for each."""
        if len(ids) != len(self):
            raise OstrakaError(
                ErrorCode.DATA_SHAPE,
                f"The data have {len(ids)} ids for {len(self)} records: give one id per record.",
            )
        return replace(self, ids=tuple(ids))

    def labels(self) -> NDArray[np.int64]:
        """Class indices (N,), or 0 and 1 (N, k); raises `data.missing` where the records have none."""
        if self.y is None:
            raise OstrakaError(
                ErrorCode.DATA_MISSING,
                "The data have no labels: add a label column, or an array y to the .npz.",
            )
        return self.y


def from_arrays(
    X: NDArray[Any],
    y: NDArray[Any] | None = None,
    *,
    columns: tuple[str, ...] | None = None,
    classes: tuple[str, ...] | None = None,
    consent: NDArray[Any] | None = None,
    source: Origin | str = "the data",
    incomplete: bool = False,
) -> Dataset:
    """Make a dataset from arrays as they come; records of several axes are flattened and keep their shape.

    Columns without names are called x0, x1, ... `consent` is an array (N,) of level names. Where records may
    be `incomplete`, NaN stands for a missing value. Raises `data.shape`, `data.nan`, `data.label_range`,
    `data.not_numeric`, and for consent `data.missing` and `data.unreadable`, naming `source`, the column and
    the row.
    """
    features, shape = _features(X, source)
    names = columns or tuple(f"x{i}" for i in range(features.shape[1]))
    if len(names) != features.shape[1]:
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"{source} names {len(names)} columns but X has {features.shape[1]}: give every column one name.",
        )
    require_finite(features, names, source, incomplete=np.full(len(names), incomplete))
    labels = None if y is None else _labels(y, len(features), classes, source)
    levels = None if consent is None else consent_levels(consent, len(features), source)
    return Dataset(names, features, labels, classes, shape, levels)


def require_finite(
    X: NDArray[np.float32],
    columns: tuple[str, ...],
    source: Origin | str,
    *,
    incomplete: NDArray[np.bool_] | None = None,
) -> None:
    """Raise `data.nan` naming the first row and column of X (N, F) that is not a finite number.

    In columns that are `incomplete` (F,) NaN stands for a missing value.
    """
    finite = np.isfinite(X)
    if incomplete is not None and incomplete.any():
        finite |= incomplete & np.isnan(X)
    if finite.all():
        return
    row, column = map(int, np.unravel_index(int(np.argmin(finite)), X.shape))
    raise OstrakaError(
        ErrorCode.DATA_NAN,
        f"{source} has no finite number in {place(source, row)}, column '{columns[column]}': fill it in or"
        " drop it.",
        column=columns[column],
        row=str(row),
    )


def _features(X: NDArray[Any], source: Origin | str) -> tuple[NDArray[np.float32], tuple[int, ...] | None]:
    if X.dtype.kind not in "biuf":
        raise OstrakaError(
            ErrorCode.DATA_NOT_NUMERIC, f"{source} has features of type {X.dtype}: turn them into numbers."
        )
    if X.ndim < 2 or 0 in X.shape:
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"{source} has features of shape {X.shape}: give at least one record and one feature, "
            "as (records, features) or (records, height, width).",
        )
    # Numbers too large for float32 become infinite, and are refused as such.
    with np.errstate(over="ignore"):
        flat = np.ascontiguousarray(X.reshape(len(X), -1), dtype=np.float32)
    return flat, (tuple(X.shape[1:]) if X.ndim > 2 else None)


def _labels(
    y: NDArray[Any], records: int, classes: tuple[str, ...] | None, source: Origin | str
) -> NDArray[np.int64]:
    several = y.ndim == 2 and y.shape[1] > 1
    if y.shape[:1] != (records,) or (y.ndim > 1 and not several):
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"{source} has labels of shape {y.shape} for {records} records: give one class index per record, "
            "or a column of 0 and 1 for each of several labels.",
        )
    if several:
        return label_matrix(y, classes, source)
    if y.dtype.kind not in "biu":
        raise OstrakaError(
            ErrorCode.DATA_LABEL_RANGE,
            f"{source} has labels of type {y.dtype}: give class indices as integers from 0.",
        )
    require_in_range(y, len(classes) if classes else None, source)
    return y.astype(np.int64)
