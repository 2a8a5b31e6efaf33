"""Reading a task's records from a table: columns are found by name, in any order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ostraka.common.console.texts import list_words
from ostraka.common.datasets import Dataset, from_arrays
from ostraka.common.datasets.consent import COLUMN
from ostraka.common.datasets.reading import Origin
from ostraka.common.datasets.table_columns import (
    class_labels,
    column_texts,
    label_columns,
    levels,
    record_ids,
    require_records,
    target_numbers,
    unreadable,
)
from ostraka.common.datasets.table_files import Table
from ostraka.common.datasets.unreadable import UnreadableValuesError
from ostraka.common.datasets.word_columns import is_missing
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task.checks import column_mismatch, find_beyond
from ostraka.common.task.columns import Codes
from ostraka.common.task.input import TableInput, TensorInput
from ostraka.common.task.target import NumberTarget


class _Task(Protocol):
    """The part of a task (`ostraka.common.task.task.Task`) that is needed to read its tables."""

    @property
    def name(self) -> str: ...
    @property
    def input(self) -> TableInput | TensorInput: ...
    @property
    def multi_label(self) -> bool: ...
    @property
    def label(self) -> str: ...
    @property
    def target(self) -> NumberTarget | None: ...
    @property
    def classes(self) -> tuple[str, ...]: ...
    @property
    def id(self) -> str | None: ...
    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def labels(self) -> tuple[str, ...]: ...
    @property
    def unused(self) -> tuple[str, ...]: ...
    @property
    def takes_consent(self) -> bool: ...
    def ignores(self, column: str, columns: Collection[str]) -> bool: ...


def read_records(task: _Task, table: Table, ignored: Collection[str] = ()) -> Dataset:
    """Return the records of a table as `Task.read` does; values are not checked against their ranges.

    Rows without a class are refused; drop them first.
    """
    columns = table.columns
    origin = table.origin
    if not isinstance(task.input, TableInput):
        raise OstrakaError(
            ErrorCode.TASK_MISMATCH,
            f"{origin} is a table, but the task takes records of shape {task.input.shape}: give an .npz.",
        )
    require_records(table)
    consent = task.takes_consent and COLUMN in columns.column_names
    _require_columns(task, columns.column_names, table.origin, consent=consent)
    table.require_one_reading((*task.input.sources, *task.labels, *(() if task.id is None else (task.id,))))
    y: NDArray[np.int64 | np.float64] | None
    classes: tuple[str, ...] | None = task.classes
    written: dict[str, str] = {}
    if task.target is not None:
        classes = None
        y, written = target_numbers(table, task.label, task.target.format)
    elif task.multi_label:
        y = label_columns(columns, task.classes, origin, ignored)
    else:
        y, classes = class_labels(columns, task.label, task.classes, origin)
    codes, notes = _codes(task.input, table)
    data = from_arrays(
        codes,
        y,
        columns=task.columns,
        classes=classes,
        consent=levels(columns, origin) if consent else None,
        source=origin,
        incomplete=True,
        numeric=task.target is not None,
    )
    data = replace(data, reading=replace(table.reading, columns=notes | written))
    return data if task.id is None else data.with_ids(_ids(columns, task.id, origin))


def drop_unlabelled(task: _Task, table: Table) -> Table:
    """Return the rows that have a class or number, if some rows have one and others do not."""
    if task.multi_label or task.label not in table.columns.column_names:
        return table
    words = column_texts(table.columns, task.label, table.origin)
    what = "class" if task.target is None else "number"
    named = pc.is_in(words, pa.array(task.classes, pa.string()))
    labelled = pc.or_(named, pc.invert(is_missing(words)))
    without = len(words) - pc.sum(labelled).as_py() if len(words) else 0
    if without in (0, len(words)):
        return table
    return table.keep(labelled, f"{without} of {len(words)} records, which have no {what} in '{task.label}'")


def _require_columns(task: _Task, found: Sequence[str], source: Origin, *, consent: bool) -> None:
    """Raise `task.mismatch` if the table lacks columns of the task, or has columns unknown to the task."""
    known = {*task.labels, *task.unused, *((COLUMN,) if consent else ())}
    columns = frozenset(found)
    features = tuple(name for name in found if name not in known and not task.ignores(name, columns))
    if set(features) != set(task.input.sources):
        absent = [name for name in (*task.labels, task.id) if name is not None and name not in columns]
        raise column_mismatch(task.input.sources, features, absent, source=source)


def _codes(expected: TableInput, table: Table) -> tuple[Codes, dict[str, str]]:
    """Return codes (N, C) and, by column, notes on how it was read.

    Raises `data.not_numeric` or `data.ambiguous` naming every column that cannot be read, and out-of-range
    values of the other columns.
    """
    columns = expected.columns
    ends = np.cumsum([len(column.parts) for column in columns])
    codes = np.empty((table.columns.num_rows, ends[-1]), np.float32)
    notes = {}
    problems: list[UnreadableValuesError] = []
    wrong = {}
    point_is_decimal = table.reading.point_is_decimal
    for column, end in zip(columns, ends, strict=True):
        try:
            read = column.read(table.columns[column.name], point_is_decimal=point_is_decimal)
        except UnreadableValuesError as exc:
            problems.append(exc)
            wrong[column.name] = f"column '{column.name}' ({column.kind}) {exc.tell(table.origin)}"
            codes[:, end - len(column.parts) : end] = np.nan
            continue
        codes[:, end - len(column.parts) : end] = read.codes.reshape(len(codes), -1)
        if read.note:
            notes[column.name] = read.note
    if problems:
        beyond = find_beyond(expected, expected.clip(codes), table.origin)
        told = [
            *wrong.values(),
            *(f"column '{expected.names[at]}' {what}" for (at, _), what in beyond.items()),
        ]
        raise unreadable(
            problems,
            f"{table.origin} does not fit the task: {list_words(told, '; ')}. Correct the"
            " data, or the task at all sites.",
            next(iter(wrong)),
        )
    return codes, notes


def _ids(table: pa.Table, name: str, origin: Origin) -> tuple[str, ...]:
    if name not in table.column_names:
        raise OstrakaError(
            ErrorCode.TASK_MISMATCH,
            f"{origin} has no column '{name}', the task's id: add it, or take id out of the task.",
            column=name,
        )
    return record_ids(table, name, origin)
