"""Columns of tables: labels, consent, and the numeric features of records without a task description."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ostraka.common.console.texts import list_words
from ostraka.common.datasets.consent import COLUMN
from ostraka.common.datasets.dataset import Dataset, from_arrays
from ostraka.common.datasets.label_columns import index_labels, zeros_and_ones
from ostraka.common.datasets.reading import Origin, place
from ostraka.common.errors import ErrorCode, OstrakaError

if TYPE_CHECKING:
    import pyarrow as pa

    from ostraka.common.datasets.number_format import NumberFormat
    from ostraka.common.datasets.table_files import Table
    from ostraka.common.datasets.unreadable import UnreadableValuesError

Read = TypeVar("Read")
_CUT_ID = r"^\d([.,]\d+)?[eE]\+\d+$"
"""A long number as spreadsheets show it: 1.23457E+11."""
_UNSEEN = "[\u200b\u200e\u200f\u2060\ufeff]"
"""Characters of zero width, by which equal ids would differ."""
_FLOAT_ID = r"^\d+(\.0)?$"
"""Whole numbers, which a missing value turns into floats in one table but not in another."""


def require_records(table: Table) -> None:
    """Raise `data.too_few` for a table without rows."""
    if not table.columns.num_rows:
        raise OstrakaError(
            ErrorCode.DATA_TOO_FEW, f"{table.origin} has only column names and no records: add records."
        )


def class_labels(
    table: pa.Table, label: str, classes: tuple[str, ...] | None, source: Origin | str
) -> tuple[NDArray[np.int64] | None, tuple[str, ...] | None]:
    """Return class indices (N,) and the class names; None as indices if there is no such column.

    Raises `data.nan` for a record without a label, `data.not_numeric` for values that are not words, and
    `data.label_range` for a label that is not a class.
    """
    if label not in table.column_names:
        return None, classes
    words = column_texts(table, label, source)
    _require_labels(words, label, classes or (), source)
    return index_labels(words.to_numpy(), classes, source)


def _require_labels(
    words: pa.ChunkedArray, label: str, classes: tuple[str, ...], source: Origin | str
) -> None:
    """Raise `data.nan` naming the first record without a label; a class may have the name "NA"."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from ostraka.common.datasets.word_columns import is_missing

    named = pc.is_in(words, pa.array(classes, pa.string()))
    gaps = np.flatnonzero(pc.and_(is_missing(words), pc.invert(named)).to_numpy())
    if not len(gaps):
        return
    more = f", nor in {len(gaps) - 1} more rows" if len(gaps) > 1 else ""
    raise OstrakaError(
        ErrorCode.DATA_NAN,
        f"{source} has no label in {place(source, int(gaps[0]))}, column '{label}'{more}: fill it in or"
        " drop the row.",
        column=label,
        row=str(gaps[0]),
    )


def target_numbers(
    table: Table, label: str, written: NumberFormat
) -> tuple[NDArray[np.float64] | None, dict[str, str]]:
    """Return the numbers (N,) of the column `label`, NaN where missing, and a note on any unusual notation.

    Returns None as numbers if there is no such column. Raises `data.not_numeric` or `data.ambiguous` naming
    the column.
    """
    from ostraka.common.datasets.number_columns import read_numbers

    if label not in table.columns.column_names:
        return None, {}
    numbers = _read_column(
        table.columns,
        label,
        table.origin,
        partial(
            read_numbers,
            decimal=written.decimal,
            percent=written.percent,
            point_is_decimal=table.reading.point_is_decimal,
        ),
    )
    return numbers.values, {label: numbers.note} if numbers.note else {}


def column_texts(table: pa.Table, name: str, source: Origin | str) -> pa.ChunkedArray:
    """Return a column's values as text; raise `data.not_numeric` naming the column if they are not words."""
    from ostraka.common.datasets.word_columns import texts

    return _read_column(table, name, source, texts)


def _read_column(
    table: pa.Table, name: str, source: Origin | str, read: Callable[[pa.ChunkedArray], Read]
) -> Read:
    from ostraka.common.datasets.unreadable import UnreadableValuesError

    origin = source if isinstance(source, Origin) else Origin(source)
    try:
        return read(table[name])
    except UnreadableValuesError as exc:
        raise unreadable([exc], f"{source}: column '{name}' {exc.tell(origin)}.", name) from exc


def unreadable(problems: Sequence[UnreadableValuesError], message: str, column: str) -> OstrakaError:
    """Return the refusal: `data.ambiguous` if all columns have two readings, else `data.not_numeric`."""
    ambiguous = all(problem.two_readings for problem in problems)
    code = ErrorCode.DATA_AMBIGUOUS if ambiguous else ErrorCode.DATA_NOT_NUMERIC
    return OstrakaError(code, message, column=column)


def label_columns(
    table: pa.Table, labels: tuple[str, ...], source: Origin | str, ignored: Collection[str]
) -> NDArray[np.int64] | None:
    """Return 0, 1 or UNKNOWN for every label, (N, k), or None if the table has no column for any label.

    Labels in `ignored` are 0 and need no column. Raises `data.shape` if only some labels have a column.
    """
    needed = [name for name in labels if name not in ignored]
    columns = set(table.column_names)
    missing = [name for name in needed if name not in columns]
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
    found = {name: zeros_and_ones(_binary_label(table, name, source), name, source) for name in needed}
    return np.stack([found.get(name, nothing) for name in labels], axis=1)


def _binary_label(table: pa.Table, name: str, source: Origin | str) -> NDArray[Any]:
    """Return one label's values as text: 1 and 0 for true and false, empty if missing."""
    import pyarrow.compute as pc

    words = pc.fill_null(column_texts(table, name, source), "")
    small = pc.utf8_lower(words)
    for known, digit in (("^(true|1[.,]00?)$", "1"), ("^(false|0[.,]00?)$", "0")):
        words = pc.if_else(pc.match_substring_regex(small, known), digit, words)
    values: NDArray[Any] = words.to_numpy()
    return values


def levels(table: pa.Table, source: Origin | str) -> NDArray[Any]:
    """Return consent levels as the table contains them; empty if missing."""
    return np.array(
        ["" if level is None else level for level in column_texts(table, COLUMN, source).to_pylist()]
    )


def record_ids(table: pa.Table, name: str, source: Origin | str) -> tuple[str, ...]:
    """Return the ids in a column (N,), empty where missing; whole floats lose their ".0".

    Raises `data.unreadable` naming the first row whose id has lost digits in a spreadsheet, or has characters
    of zero width, and `data.not_numeric` for ids that are not words, or that have lost digits as floats.
    """
    import pyarrow.compute as pc

    from ostraka.common.datasets.word_columns import without_missing

    ids = without_missing(column_texts(table, name, source))
    if pc.all(pc.match_substring_regex(ids, _FLOAT_ID)).as_py():
        ids = pc.replace_substring_regex(ids, r"\.0$", "")
    cut = np.flatnonzero(pc.fill_null(pc.match_substring_regex(ids, _CUT_ID), False).to_numpy())
    if len(cut):
        row = int(cut[0])
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE,
            f"{source} has '{name}' {ids[row].as_py()} in {place(source, row)}, of which a spreadsheet"
            " left out digits: export the column as text.",
            column=name,
            row=str(row),
        )
    unseen = np.flatnonzero(pc.fill_null(pc.match_substring_regex(ids, _UNSEEN), False).to_numpy())
    if len(unseen):
        row = int(unseen[0])
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE,
            f"{source} has '{name}' {ids[row].as_py()!a} in {place(source, row)}, with a character that"
            " nobody sees: take it out.",
            column=name,
            row=str(row),
        )
    return tuple("" if value is None else value for value in ids.to_pylist())


def dataset_of(
    table: Table,
    label: str | tuple[str, ...],
    classes: tuple[str, ...] | None,
    *,
    consent: bool = False,
    ignored: Collection[str] = (),
    target: NumberFormat | None = None,
) -> Dataset:
    """Return a table's dataset; it is unlabelled if the table has no column for any label.

    If `consent` is true, a column `consent` contains consent levels; otherwise it is an ordinary feature.
    Labels in `ignored` are 0 and need no column. With a `target`, the column `label` contains numbers in that
    format. Raises `data.not_numeric` naming all columns that contain no numbers.
    """
    require_records(table)
    table.require_one_reading(table.columns.column_names)
    arrow = table.columns
    origin = table.origin
    labels = (label,) if isinstance(label, str) else label
    asked = levels(arrow, origin) if consent and COLUMN in arrow.column_names else None
    no_features = {*labels, *(() if asked is None else (COLUMN,))}
    columns = tuple(name for name in arrow.column_names if name not in no_features)
    y: NDArray[np.int64 | np.float64] | None
    X, notes = _features(table, columns)
    if target is not None and isinstance(label, str):
        y, told = target_numbers(table, label, target)
        notes |= told
    elif isinstance(label, str):
        y, classes = class_labels(arrow, label, classes, origin)
    else:
        y = label_columns(arrow, label, origin, ignored)
        classes = label
    data = from_arrays(
        X,
        y,
        columns=columns,
        classes=classes,
        consent=asked,
        source=origin,
        numeric=target is not None,
    )
    return replace(data, reading=replace(table.reading, columns=notes))


def _features(table: Table, columns: tuple[str, ...]) -> tuple[NDArray[np.float32], dict[str, str]]:
    """Return numeric columns (N, F), NaN where missing, and by column a note on any unusual notation."""
    from ostraka.common.datasets.number_columns import note_rounded, read_numbers
    from ostraka.common.datasets.unreadable import UnreadableValuesError

    X = np.empty((table.columns.num_rows, len(columns)), np.float32)
    notes = {}
    problems: list[UnreadableValuesError] = []
    wrong = {}
    for index, name in enumerate(columns):
        try:
            numbers = read_numbers(table.columns[name], point_is_decimal=table.reading.point_is_decimal)
        except UnreadableValuesError as exc:
            problems.append(exc)
            wrong[name] = f"column '{name}' {exc.tell(table.origin)}"
            continue
        X[:, index] = numbers.values
        note = "; ".join(filter(None, (numbers.note, note_rounded(numbers.values))))
        if note:
            notes[name] = note
    if wrong:
        raise unreadable(
            problems,
            f"{table.origin}: {list_words(list(wrong.values()), '; ')}: describe the columns in a task with"
            " `ostraka task init`, turn them into numbers, or drop them.",
            next(iter(wrong)),
        )
    return X, notes
