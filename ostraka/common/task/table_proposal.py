"""A first task proposed from a table of labelled records, based on the content of each column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ValidationError

from ostraka.common.console.texts import list_words
from ostraka.common.datasets.plain_columns import plain_types
from ostraka.common.datasets.reading import Origin, Reading
from ostraka.common.datasets.table_files import Table
from ostraka.common.datasets.word_columns import NUMBER, find_alike, is_missing, texts
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task.column_proposal import ColumnProposal, all_differ, drop_unreadable, propose_column
from ostraka.common.task.columns import tidy
from ostraka.common.task.id_columns import IdKind, has_ids, id_kind, names_person, tells_persons
from ostraka.common.task.label_proposal import (
    LabelProposal,
    TargetKind,
    drop_unlabelled,
    note_classes,
    note_gaps,
    note_numbers,
    propose_labels,
    require_column,
    require_names,
)
from ostraka.common.task.task import Task, task_problem

NOTHING_READ = Reading()
"""The reading of a table in memory."""


@dataclass(frozen=True)
class TaskProposal:
    """A task that a person has to complete.

    Attributes:
        fields: the fields of the task, without those of a column that a single record may decide.
        found: those fields by column: its range, whether all numbers are whole, whether values are missing.
        notes: a sentence for everything that a person should check.
    """

    fields: Mapping[str, Any]
    found: Mapping[str, Mapping[str, Any]]
    notes: tuple[str, ...]

    def tell(self, reading: Reading) -> tuple[str, ...]:
        """Return sentences on how the table's records were read for the task, and the notes, none twice."""
        columns = {name: self._without_noted(name, what) for name, what in reading.columns.items()}
        told = {name: what for name, what in columns.items() if what}
        return (*replace(reading, columns=told).sentences(), *self.notes)

    def _without_noted(self, column: str, what: str) -> str:
        """Return those phrases about a column that no note contains."""
        noted = [note for note in self.notes if note.startswith(f"Column '{column}' ")]
        return "; ".join(phrase for phrase in what.split("; ") if not any(phrase in note for note in noted))

    def fill_in(self) -> dict[str, Any]:
        """Return the fields with what was found in the records; it becomes public with the task."""
        columns = [column | self.found.get(column["name"], {}) for column in self.fields["input"]["columns"]]
        filled = {**self.fields, "input": {**self.fields["input"], "columns": columns}}
        if "target" in filled:
            filled["target"] = filled["target"] | self.found[filled["label"]]
        return filled

    def task(self) -> Task:
        """Return the completed task; raise `config.invalid` if it is not valid."""
        fields = self.fill_in()
        try:
            return Task.model_validate(fields)
        except ValidationError as exc:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                f"No task can be made of the table: {task_problem(exc, fields)}.",
            ) from exc


def propose_task(
    table: pa.Table,
    labels: Sequence[str],
    name: str,
    *,
    source: Origin | str,
    public: bool = False,
    reading: Reading = NOTHING_READ,
    target: TargetKind | None = None,
) -> TaskProposal:
    """Propose a task for a table of records with one class or number, or with several labels of 0 and 1.

    A label column of numbers is a quantity, and becomes the task's target, if one of them is not whole, or if
    they have more than `FEW` distinct values and fewer than `RECORDS_A_CLASS` records for each. Otherwise
    they are classes.

    Args:
        table: the records.
        labels: the label column; several make a multi-label task.
        name: the task's name.
        source: where the records come from, or their name in error messages.
        public: whether the records are public, so that rare categories and classes may be shown.
        reading: what was guessed when the table was read.
        target: what the label column contains; None: infer it.

    Raises:
        OstrakaError: `data.missing` for a label column that does not exist; `data.label_range` for labels
            that look like an id, that look like a quantity but should be classes, or that are all the same;
            `data.too_few` for a table without records; `data.shape` for names that a task cannot have;
            `data.not_numeric` if no column can be a feature or the target is not a number; `data.ambiguous`
            if the target has two readings.
    """
    origin = source if isinstance(source, Origin) else Origin(source)
    labels = tuple(map(tidy, labels))
    records = plain_types(table)
    _require_records(records, labels, origin, reading)
    unlabelled, labelled, kept = drop_unlabelled(records, labels, origin)
    columns = _propose_columns(labelled, labels, kept, reading, public=public)
    features = _of_use(columns, "feature")
    if not features:
        raise _no_features(columns, str(origin))
    chosen = _choose_id(labelled, columns)
    proposed = propose_labels(labelled, labels, kept, reading, public=public, target=target)
    found = {column: columns[column].found for column in features}
    fields = _fields(name, labels, columns, chosen, proposed)
    proposal = TaskProposal(fields, {**proposed.found, **found}, ())
    notes = (
        *note_gaps(labels, unlabelled, len(records), numeric=proposed.numeric),
        *_column_notes(columns),
        *note_classes(labelled, labels, proposed),
        *_repeat_notes(labelled, [*features, *labels]),
        *([] if proposed.numeric or target is not None else note_numbers(labelled, labels)),
        *_header_notes(labelled.column_names),
        *_id_notes(labelled, chosen, _of_use(columns, "id")),
        *(
            f"Classes that look alike: {names}. Write them in one way if they are one."
            for names in find_alike(fields.get("classes", ()))
        ),
        *_misfits(proposal, proposed.classes, labelled, kept),
    )
    return replace(proposal, notes=notes)


def _require_records(table: pa.Table, labels: Sequence[str], origin: Origin, reading: Reading) -> None:
    """Raise for a table without records, a missing or ambiguous label column, or invalid column names."""
    if not len(table):
        raise OstrakaError(ErrorCode.DATA_TOO_FEW, f"{origin} has no records: add some.")
    for label in labels:
        require_column(table, label, str(origin))
    Table(table, origin, reading).require_one_reading(labels)
    require_names(table.column_names, "column", str(origin))


def _propose_columns(
    table: pa.Table, labels: Sequence[str], origin: Origin, reading: Reading, *, public: bool
) -> dict[str, ColumnProposal]:
    """Propose a use for every column except the labels; a proposal must read its own values."""
    found: dict[str, ColumnProposal] = {}
    for name in table.column_names:
        if name in reading.ambiguous and name not in labels:
            found[name] = ColumnProposal("ignore", note=reading.ambiguous[name])
        elif name not in labels:
            values = table[name]
            proposal = propose_column(name, values, public=public, origin=origin)
            found[name] = drop_unreadable(proposal, values, origin, point_is_decimal=reading.point_is_decimal)
    return found


def _of_use(columns: Mapping[str, ColumnProposal], use: str) -> list[str]:
    """Return the names of columns with this use, in the table's order."""
    return [name for name, proposal in columns.items() if proposal.use == use]


def _fields(
    name: str,
    labels: Sequence[str],
    columns: Mapping[str, ColumnProposal],
    chosen: str | None,
    proposed: LabelProposal,
) -> dict[str, Any]:
    """Return the task's fields, without those that a single record may decide."""
    others = [column for column in _of_use(columns, "id") if column != chosen]
    ignored = [*_of_use(columns, "ignore"), *others]
    features = [{"name": column, **columns[column].fields} for column in _of_use(columns, "feature")]
    return {
        "name": name,
        **({"label": labels[0]} if len(labels) == 1 else {}),
        **({"id": chosen} if chosen is not None else {}),
        **({"persons": True} if tells_persons(chosen or "") else {}),
        **({"ignore": ignored} if ignored else {}),
        **proposed.fields,
        "input": {"kind": "table", "preprocessing": "range", "columns": features},
    }


def _misfits(
    proposal: TaskProposal, classes: Sequence[str], table: pa.Table, origin: Origin
) -> Iterator[str]:
    """Yield the reason if the draft, completed with what was found, would not read its own table."""
    completed = {**proposal.fields, **({"classes": list(classes)} if classes else {})}
    try:
        replace(proposal, fields=completed).task().read(table, source=origin)
    except OstrakaError as exc:
        yield f"As it is, the task does not fit its own records: {exc.message}"


def _may_tell_persons(name: str, values: pa.ChunkedArray) -> bool:
    """Whether a column identifies persons, judged by its name, even if no task could read it."""
    return names_person(name) and has_ids(name, values)


def _choose_id(table: pa.Table, columns: Mapping[str, ColumnProposal]) -> str | None:
    """Return the column that identifies persons, or else records; None if there is none.

    Also None if a column of persons' ids has gaps or cannot be read by a task: with another id, each of a
    person's records would pass for a person.
    """
    ids = _of_use(columns, "id")
    if any(_may_tell_persons(column, table[column]) for column in columns if column not in ids):
        return None
    ranks = {column: _rank(column, table[column]) for column in ids}
    known = [column for column in ids if ranks[column] is not None]
    chosen = min(known, key=lambda column: ranks[column] or 0, default=None)
    persons = any(map(names_person, ids))
    return None if chosen is None or (persons and not names_person(chosen)) else chosen


def _rank(name: str, values: pa.ChunkedArray) -> int | None:
    """Return a column's rank as the id; the lowest is chosen. Ids of other things must be distinct.

    A column with gaps has no rank, because nobody knows whose records have no id.
    """
    if pc.any(is_missing(texts(values))).as_py():
        return None
    kind = id_kind(name)
    if kind is IdKind.NAME:
        return None
    if kind in (IdKind.PERSON, IdKind.RECORD):
        return kind
    return IdKind.OTHER if all_differ(values) else None


def _id_notes(table: pa.Table, chosen: str | None, ids: Sequence[str]) -> Iterator[str]:
    """Yield notes: whether ids repeat, whether each is a person, and which ids are ignored."""
    if chosen is not None:
        words = texts(table[chosen])
        held = pc.value_counts(words).field("counts").to_numpy()
        if held.max() > 1:
            yield (
                f"Column '{chosen}' is the records' id, and {(held > 1).sum()} of {len(held)} repeat, at most"
                f" {held.max()} times: the records of one stay with one teacher."
            )
        if tells_persons(chosen):
            yield f"persons = true says that each '{chosen}' is one person: take it out if that is not so."
        else:
            yield f"Write persons = true if each '{chosen}' is one person: else none is promised anything."
    others = [f"'{column}'" for column in ids if column != chosen]
    if others:
        yield f"Named like ids or persons, and ignored: {list_words(others)}."
    for column in ids:
        gaps = pc.sum(is_missing(texts(table[column]))).as_py()
        if gaps and id_kind(column) not in (None, IdKind.NAME):
            yield f"{gaps} of {len(table)} records have no '{column}': fill it in to tell them apart by it."


def _header_notes(names: Sequence[str]) -> Iterator[str]:
    """Yield a question whether the header is a record, if most column names are numbers."""
    numbers = [name for name in names if re.fullmatch(NUMBER, name, re.ASCII)]
    if len(numbers) > len(names) / 2:
        told = list_words([repr(name) for name in numbers])
        yield f"Columns are called {told}: if the first line is a record, write one of names before it."


def _column_notes(columns: Mapping[str, ColumnProposal]) -> Iterator[str]:
    for column, proposal in columns.items():
        if proposal.note:
            unused = ", and is ignored" if proposal.use == "ignore" else ""
            yield f"Column '{column}' {proposal.note}{unused}."


def _repeat_notes(table: pa.Table, columns: Sequence[str]) -> Iterator[str]:
    repeated = len(table) - len(table.select(columns).group_by(columns).aggregate([]))
    if repeated:
        yield f"{repeated} of {len(table)} records repeat another one."


def _no_features(proposals: Mapping[str, ColumnProposal], source: str) -> OstrakaError:
    notes = [f"column '{name}' {proposal.note or 'is an id'}" for name, proposal in proposals.items()]
    why = list_words(notes, "; ")
    return OstrakaError(
        ErrorCode.DATA_NOT_NUMERIC,
        f"{source} has no column that can be a feature{f' ({why})' if why else ''}: it needs numbers, dates,"
        " or values that repeat.",
    )
