"""Records of a task read from a table: columns by name, whatever their order in the table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from ostraka.common.console.texts import listed
from ostraka.common.datasets import Dataset, from_arrays
from ostraka.common.datasets.consent import COLUMN
from ostraka.common.datasets.table_columns import class_labels, label_columns, levels
from ostraka.common.datasets.table_files import Frame, arrow_table
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task.checks import column_mismatch
from ostraka.common.task.columns import Codes, NamedColumn
from ostraka.common.task.input import TableInput, TensorInput
from ostraka.common.task.table_values import UnreadableValuesError, texts


class _Task(Protocol):
    """What is read of a task (`ostraka.common.task.task.Task`), which reads its tables here."""

    @property
    def name(self) -> str: ...
    @property
    def input(self) -> TableInput | TensorInput: ...
    @property
    def multi_label(self) -> bool: ...
    @property
    def label(self) -> str: ...
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
    def ignores(self, column: str) -> bool: ...


def read_records(task: _Task, frame: Frame, source: str, ignored: Collection[str] = ()) -> Dataset:
    """Return the records of a table as `Task.read` does; values are not checked against their ranges."""
    table = arrow_table(frame, source)
    if not isinstance(task.input, TableInput):
        raise OstrakaError(
            ErrorCode.TASK_MISMATCH,
            f"{source} is a table, but the task takes records of shape {task.input.shape}: give an .npz.",
        )
    consent = task.takes_consent and COLUMN in table.column_names
    _require_columns(task, table.column_names, consent=consent)
    y, classes = (
        (label_columns(table, task.classes, source, ignored), task.classes)
        if task.multi_label
        else class_labels(table, task.label, task.classes, source)
    )
    data = from_arrays(
        _codes(task.input.columns, table, source),
        y,
        columns=task.columns,
        classes=classes,
        consent=levels(table) if consent else None,
        source=source,
        incomplete=True,
    )
    return data if task.id is None else data.with_ids(_ids(table, task.id, source))


def _require_columns(task: _Task, found: Sequence[str], *, consent: bool) -> None:
    """Raise `task.mismatch` unless the table has the task's columns, and no column that it does not know."""
    known = {*task.labels, *task.unused, *((COLUMN,) if consent else ())}
    features = tuple(name for name in found if name not in known and not task.ignores(name))
    if set(features) != set(task.columns):
        raise column_mismatch(task.columns, features)


def _codes(columns: Sequence[NamedColumn], table: pa.Table, source: str) -> Codes:
    """Return codes (N, C); raises `data.not_numeric` telling every column that cannot be read."""
    codes = np.empty((table.num_rows, len(columns)), np.float32)
    problems = []
    for index, column in enumerate(columns):
        try:
            codes[:, index] = column.read(table[column.name])
        except UnreadableValuesError as exc:
            problems.append(f"column '{column.name}' ({column.kind}) {exc}")
    if problems:
        raise OstrakaError(
            ErrorCode.DATA_NOT_NUMERIC,
            f"{source} does not fit the task: {listed(problems, '; ')}. Correct the data, or the task"
            " at all sites.",
        )
    return codes


def _ids(table: pa.Table, name: str, source: str) -> tuple[str, ...]:
    if name not in table.column_names:
        raise OstrakaError(
            ErrorCode.TASK_MISMATCH,
            f"{source} has no column '{name}', the task's id: add it, or take id out of the task.",
            column=name,
        )
    return tuple("" if value is None else value for value in texts(table[name]).to_pylist())
