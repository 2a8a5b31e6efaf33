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
    """Records with their columns and, if they are labelled, their classes, labels or numbers.

    Attributes:
        columns: the F feature names in order.
        X: float32, shape (N, F); images are flattened. Finite, except NaN for a missing value where the task
            allows missing values.
        y: int64 class indices, shape (N,); for multi-label records 0 or 1 for every label, shape (N, k); for
            numeric records float64, shape (N,); None for an unlabelled pool.
        classes: the class names by index, or the names of the k labels; None if the file has no names.
        shape: the shape of one record before it was flattened; None for a table.
        consent: the consent level of each of the N records; None if the file has no levels.
        ids: the id of each of the N records, chosen by whoever supplied them; None if there are no ids.
        reading: what was guessed and left out when the file or table was read, or None.
    """

    columns: tuple[str, ...]
    X: NDArray[np.float32]
    y: NDArray[np.int64 | np.float64] | None = None
    classes: tuple[str, ...] | None = None
    shape: tuple[int, ...] | None = None
    consent: tuple[str, ...] | None = None
    ids: tuple[str, ...] | None = None
    reading: Reading | None = None

    def __len__(self) -> int:
        return len(self.X)

    @property
    def read_as(self) -> tuple[str, ...]:
        """What a person should know about how the records were read, one sentence each."""
        return () if self.reading is None else self.reading.sentences()

    @property
    def multi_label(self) -> bool:
        """Whether a record has a 0 or 1 for every label instead of one class."""
        return self.y is not None and self.y.ndim == 2

    @property
    def numeric(self) -> bool:
        """Whether a record has a number instead of a class."""
        return self.y is not None and self.y.dtype.kind == "f"

    def take(self, rows: NDArray[np.integer[Any]] | slice) -> Self:
        """Return the records at these rows, in that order."""
        y = None if self.y is None else self.y[rows]
        consent, ids = (
            None if words is None else tuple(np.array(words)[rows].tolist())
            for words in (self.consent, self.ids)
        )
        return type(self)(self.columns, self.X[rows], y, self.classes, self.shape, consent, ids)

    def with_codes(self, X: NDArray[np.float32]) -> Self:
        """Return the records with other feature values (N, F)."""
        return replace(self, X=X)

    def without_labels(self, ignored: Sequence[int]) -> Self:
        """Return multi-label records with the `ignored` labels, given by index, set to 0."""
        if not ignored or self.y is None:
            return self
        y = self.y.copy()
        y[:, list(ignored)] = 0
        return replace(self, y=y)

    def with_ids(self, ids: Sequence[str]) -> Self:
        """Return the records with these ids; raise `data.shape` unless each record has one."""
        if len(ids) != len(self):
            raise OstrakaError(
                ErrorCode.DATA_SHAPE,
                f"The data have {len(ids)} ids for {len(self)} records: give one id per record.",
            )
        return replace(self, ids=tuple(ids))

    def targets(self) -> NDArray[np.int64 | np.float64]:
        """Return `y`; raise `data.missing` if the records have none."""
        if self.y is None:
            raise OstrakaError(
                ErrorCode.DATA_MISSING,
                "The data have no labels: add a label column, or an array y to the .npz file.",
            )
        return self.y

    def labels(self) -> NDArray[np.int64]:
        """Return class indices (N,), or 0 and 1 for every label (N, k).

        Raises `data.missing` if the records have no labels, and `task.numeric` if they have numbers.
        """
        y = self.targets()
        if self.numeric:
            raise OstrakaError(
                ErrorCode.TASK_NUMERIC,
                "The records have a number each, but classes are needed here: learn numbers from sums with"
                " `ostraka query fit`.",
            )
        return y.astype(np.int64, copy=False)

    def numbers(self) -> NDArray[np.float64]:
        """Return the records' numbers (N,); raise `data.missing` if they have none."""
        return self.targets().astype(np.float64, copy=False)

    def without_gaps(self, source: Origin | str) -> Self:
        """Return the records with a number; note the others in `reading`. Raise `data.nan` if none has it."""
        if not self.numeric or not np.isnan(self.numbers()).any():
            return self
        known = ~np.isnan(self.numbers())
        if not known.any():
            raise OstrakaError(
                ErrorCode.DATA_NAN,
                f"No record of {source} has a number to learn: add records that have one.",
            )
        why = f"{(~known).sum()} of {len(self)} records, which have no number to learn"
        reading = self.reading or Reading()
        left_out = (*reading.left_out, why)
        return replace(self.take(np.flatnonzero(known)), reading=replace(reading, left_out=left_out))


def from_arrays(
    X: NDArray[Any],
    y: NDArray[Any] | None = None,
    *,
    columns: tuple[str, ...] | None = None,
    classes: tuple[str, ...] | None = None,
    consent: NDArray[Any] | None = None,
    source: Origin | str = "the data",
    incomplete: bool = False,
    numeric: bool = False,
) -> Dataset:
    """Build a dataset from arrays; records with several axes are flattened, and their shape is kept.

    Columns without names are called x0, x1, ... `consent` is an array (N,) of level names. If `incomplete` is
    true, NaN in X means a missing value. If `numeric` is true, `y` contains a number for each record, with
    NaN where it is missing, instead of classes. Raises `data.shape`, `data.nan`, `data.label_range`,
    `data.not_numeric`, and for consent `data.missing` and `data.unreadable`; the message names `source` and,
    where applicable, the column and the row.
    """
    features, shape = _features(X, source)
    names = columns or tuple(f"x{i}" for i in range(features.shape[1]))
    if len(names) != features.shape[1]:
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"{source} names {len(names)} columns but X has {features.shape[1]}: give every column one name.",
        )
    require_finite(features, names, source, incomplete=np.full(len(names), incomplete))
    labels: NDArray[np.int64 | np.float64] | None = None
    if y is not None:
        labels = _numbers(y, len(features), source) if numeric else _labels(y, len(features), classes, source)
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

    In the columns marked in `incomplete` (F,), NaN means a missing value and is accepted.
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
    # Numbers too large for float32 become infinite, and are then refused as infinite.
    with np.errstate(over="ignore"):
        flat = np.ascontiguousarray(X.reshape(len(X), -1), dtype=np.float32)
    return flat, (tuple(X.shape[1:]) if X.ndim > 2 else None)


def _numbers(y: NDArray[Any], records: int, source: Origin | str) -> NDArray[np.float64]:
    if y.shape != (records,):
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"{source} has numbers of shape {y.shape} for {records} records: give one number per record.",
        )
    if y.dtype.kind not in "iuf":
        raise OstrakaError(
            ErrorCode.DATA_NOT_NUMERIC,
            f"{source} has targets of type {y.dtype}: turn them into numbers.",
        )
    numbers = y.astype(np.float64)
    if np.isinf(numbers).any():
        row = int(np.argmax(np.isinf(numbers)))
        raise OstrakaError(
            ErrorCode.DATA_NOT_NUMERIC,
            f"{source} has no finite number to learn in {place(source, row)}: correct it or drop the row.",
            row=str(row),
        )
    return numbers


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
