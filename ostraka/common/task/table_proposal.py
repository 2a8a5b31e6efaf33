"""A first task proposed from a table of labelled records, by what each column seems to hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import ValidationError

from ostraka.common.console.texts import listed
from ostraka.common.datasets.date_columns import read_days
from ostraka.common.datasets.number_columns import infer_numbers, read_numbers
from ostraka.common.datasets.table_columns import class_labels, label_columns
from ostraka.common.datasets.unreadable import UnreadableValuesError
from ostraka.common.datasets.word_columns import NO, YES, is_missing, texts
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task.columns import INDICATOR, Codes
from ostraka.common.task.task import Task, first_problem
from ostraka.common.validation import did_you_mean

DATE_FORMATS = (None, "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%Y%m%d")
MAX_CATEGORY_VALUES = 50
"""Different values that text may have to be a category."""
MAX_NON_NUMERIC_SHARE = 0.1
"""Share of values that may be no numbers where a column of text is still one of numbers."""
MIN_RECORDS_FOR_ID = 20
"""In fewer records any text may differ by chance."""
MIN_HOLDERS = 10
"""Records that must hold a category, or have a class, that is told to other sites."""
EPOCH = np.datetime64(0, "D")
_ID = re.compile(r"(^|[\W_])(id|nr|no|mrn|uuid|key|index)$|(Id|ID)$")
_LARGEST_WHOLE = 2**24
"""Whole numbers beyond this are not exact as float32."""


@dataclass(frozen=True)
class ColumnProposal:
    """A column as a task describes it, or why none does.

    Attributes:
        use: "feature", "id", or "ignore".
        fields: of a feature, but for its name, that no single record decides.
        found: those that one record may decide, and that would tell of it: the range, whether all numbers are
            whole, whether values are missing.
        note: what a person should know; empty where nothing is special.
    """

    use: Literal["feature", "id", "ignore"]
    fields: Mapping[str, Any] = field(default_factory=dict)
    found: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""


def propose_column(name: str, values: pa.ChunkedArray, *, public: bool) -> ColumnProposal:
    """Return what a column seems to hold; rare categories of records that are not `public` are left out."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind = values.type
    if values.null_count == len(values):
        return ColumnProposal("ignore", note="is empty")
    if pa.types.is_boolean(kind):
        return ColumnProposal("feature", {"kind": "boolean"}, _missing(values))
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _date(days(values, None), None)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _text(name, values, public=public)
    try:
        found = numbers(values)
    except UnreadableValuesError as exc:
        return ColumnProposal("ignore", note=str(exc))
    if pa.types.is_integer(kind) and _ID.search(name) and _all_differ(values):
        return ColumnProposal("id")
    return _number(found)


def _text(name: str, values: pa.ChunkedArray, *, public: bool) -> ColumnProposal:
    words = texts(values)
    present = pc.filter(words, pc.invert(is_missing(words)))
    if not len(present):
        return ColumnProposal("ignore", note="is empty")
    told = set(pc.unique(pc.utf8_lower(present)).to_pylist())
    if told <= {*YES, *NO}:
        return ColumnProposal("feature", {"kind": "boolean"}, _missing(words))
    for form in DATE_FORMATS:
        found = _days_or_none(values, form)
        if found is not None:
            return _date(found, form)
    share, numeric, odd = _numeric_share(present)
    if share > 1 - MAX_NON_NUMERIC_SHARE:
        return _number(
            numeric, f"has {odd!r} and more that is no number: write numbers there, or leave it empty"
        )
    if len(told) <= min(MAX_CATEGORY_VALUES, len(present) / 2):
        return _category(words, present, public=public)
    if _all_differ(present) and len(present) == len(words) >= MIN_RECORDS_FOR_ID:
        if _ID.search(name):
            return ColumnProposal("id")
        return ColumnProposal("ignore", note="differs in every record")
    return ColumnProposal("ignore", note=f"is text with {len(told)} different values")


def _number(found: Codes, note: str = "") -> ColumnProposal:
    known = found[~np.isnan(found)]
    if not len(known):
        return ColumnProposal("ignore", note="is empty")
    low, high = (float(str(end)) for end in (known.min(), known.max()))
    whole = bool((np.trunc(known) == known).all()) and max(abs(low), abs(high)) <= _LARGEST_WHOLE
    told: dict[str, Any] = {"dtype": "int32" if whole else "float32"}
    if len(known) < len(found):
        told["missing"] = INDICATOR
    told |= {"min": low, "max": high}
    return ColumnProposal("feature", found=told, note=note or _constant(low == high))


def _date(found: NDArray[np.float64], form: str | None) -> ColumnProposal:
    known = found[~np.isnan(found)].astype(np.int64)
    first, last = ((EPOCH + int(day)).astype(object) for day in (known.min(), known.max()))
    fields: dict[str, Any] = {"kind": "date"} | ({} if form is None else {"format": form})
    told: dict[str, Any] = {"missing": INDICATOR} if len(known) < len(found) else {}
    told |= {"min": first, "max": last}
    return ColumnProposal("feature", fields, told, _constant(first == last))


def _category(words: pa.ChunkedArray, present: pa.ChunkedArray, *, public: bool) -> ColumnProposal:
    holders = Counter(present.to_pylist())
    known = sorted(value for value, count in holders.items() if public or count >= MIN_HOLDERS)
    rare = len(holders) - len(known)
    if not known:
        return ColumnProposal("ignore", note=f"has no value that {MIN_HOLDERS} records hold")
    fields: dict[str, Any] = {"kind": "category", "values": known}
    if not public:
        fields["other"] = True
    note = f"has values that fewer than {MIN_HOLDERS} records hold, which count as other" if rare else ""
    return ColumnProposal("feature", fields, _missing(words), note or _constant(len(holders) == 1))


def _missing(values: pa.ChunkedArray) -> dict[str, str]:
    missing = is_missing(values) if pa.types.is_string(values.type) else pc.is_null(values)
    return {"missing": INDICATOR} if pc.any(missing).as_py() else {}


def _constant(same: bool) -> str:
    return "has one value only" if same else ""


def _all_differ(values: pa.ChunkedArray) -> bool:
    return len(pc.unique(values)) == len(values)


def _numeric_share(present: pa.ChunkedArray) -> tuple[float, Codes, str]:
    """Return the share of values that are numbers, these, and the first one that is none."""
    found = []
    odd = ""
    for value in present.to_pylist():
        try:
            found.append(float(value))
        except ValueError:
            odd = odd or value
    return len(found) / len(present), np.array(found, np.float32), odd


def _days_or_none(values: pa.ChunkedArray, form: str | None) -> NDArray[np.float64] | None:
    try:
        return days(values, form)
    except UnreadableValuesError:
        return None


FEW = 20
"""Different numbers that labels may have without looking like a quantity."""
RECORDS_A_CLASS = 10
"""On average, below which numbers in a label column look like a quantity."""


@dataclass(frozen=True)
class TaskProposal:
    """A task that a person has to complete.

    Attributes:
        fields: of the task, without what a single record may decide of a column.
        found: that, by column: its range, whether all numbers are whole, whether values are missing.
        notes: one sentence for whatever a person should look at.
    """

    fields: Mapping[str, Any]
    found: Mapping[str, Mapping[str, Any]]
    notes: tuple[str, ...]

    def completed(self) -> dict[str, Any]:
        """Return the fields with what was found in the records, which becomes public with the task."""
        columns = [column | self.found.get(column["name"], {}) for column in self.fields["input"]["columns"]]
        return {**self.fields, "input": {**self.fields["input"], "columns": columns}}

    def task(self) -> Task:
        """Return the completed task; raise `config.invalid` where it makes none."""
        try:
            return Task.model_validate(self.completed())
        except ValidationError as exc:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                f"No task can be made of the table, {first_problem(exc)}: correct it.",
            ) from exc


def propose_task(
    table: pa.Table, labels: Sequence[str], name: str, *, source: str, public: bool = False
) -> TaskProposal:
    """Propose a task for a table of records with one class, or with several labels of 0 and 1.

    Args:
        table: the records.
        labels: the label column; several make a multi-label task.
        name: of the task.
        source: what the records are called in errors.
        public: whether the records are public, so that rare categories and classes may be told.

    Raises:
        OstrakaError: `data.missing` for a label column that is not there, `data.label_range` for labels that
            look like a quantity or an id, or are all the same, `data.too_few` for a table without records,
            `data.not_numeric` where no column can be a feature.
    """
    if not len(table):
        raise OstrakaError(ErrorCode.DATA_TOO_FEW, f"{source} has no records: bring some.")
    for label in labels:
        _require_column(table, label, source)
    rest = [column for column in table.column_names if column not in labels]
    proposals = {column: propose_column(column, table[column], public=public) for column in rest}
    ids = [column for column, proposal in proposals.items() if proposal.use == "id"]
    ignored = [column for column, proposal in proposals.items() if proposal.use == "ignore"] + ids[1:]
    features = {column: p for column, p in proposals.items() if p.use == "feature"}
    if not features:
        raise _no_features(proposals, source)
    fields: dict[str, Any] = {"name": name}
    if len(labels) == 1:
        fields |= {"label": labels[0]}
    fields |= {"id": ids[0]} if ids else {}
    fields |= {"ignore": ignored} if ignored else {}
    classes, rare = _classes(table, labels, source)
    fields |= {"classes": [name for name in classes if public or name not in rare]}
    fields |= {"multi_label": True} if len(labels) > 1 else {}
    columns = [{"name": column, **proposal.fields} for column, proposal in features.items()]
    fields["input"] = {"kind": "table", "preprocessing": "range", "columns": columns}
    found = {column: proposal.found for column, proposal in features.items()}
    left_out = () if public else rare
    return TaskProposal(fields, found, tuple(_notes(table, labels, proposals, left_out)))


def _no_features(proposals: Mapping[str, ColumnProposal], source: str) -> OstrakaError:
    notes = [f"column '{name}' {proposal.note or 'is an id'}" for name, proposal in proposals.items()]
    why = listed(notes, "; ")
    return OstrakaError(
        ErrorCode.DATA_NOT_NUMERIC,
        f"{source} has no column that can be a feature{f' ({why})' if why else ''}: it needs numbers, dates,"
        " or values that repeat.",
    )


def _require_column(table: pa.Table, label: str, source: str) -> None:
    if label in table.column_names:
        return
    raise OstrakaError(
        ErrorCode.DATA_MISSING,
        f"{source} has no column '{label}'{did_you_mean(label, table.column_names)}: name its label column;"
        f" it has {listed(table.column_names)}.",
        column=label,
    )


def _classes(table: pa.Table, labels: Sequence[str], source: str) -> tuple[Sequence[str], Collection[str]]:
    """Return all classes, and those that fewer than `MIN_HOLDERS` records have."""
    if len(labels) > 1:
        label_columns(table, tuple(labels), source, ())
        return labels, ()
    values = table[labels[0]]
    different = len(pc.unique(values))
    kind = values.type
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_integer(kind):
        whole = pc.all(pc.equal(pc.trunc(values), values)).as_py()
        if not whole or different > max(FEW, len(table) / RECORDS_A_CLASS):
            raise _no_classes(source, labels[0], different, "look like a quantity, and only classes")
    elif different > max(FEW, len(table) / 2):
        raise _no_classes(source, labels[0], different, "look like ids or free text, and only classes")
    indices, names = class_labels(table, labels[0], None, source)
    assert indices is not None  # noqa: S101 - the column is there
    assert names is not None  # noqa: S101
    if len(names) < 2:
        raise OstrakaError(
            ErrorCode.DATA_LABEL_RANGE,
            f"{source} has one class only, {', '.join(names)}: bring records of another one, or name"
            " another label column.",
            column=labels[0],
        )
    holders = np.bincount(indices, minlength=len(names))
    return names, {name for name, count in zip(names, holders, strict=True) if count < MIN_HOLDERS}


def _no_classes(source: str, label: str, different: int, what: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.DATA_LABEL_RANGE,
        f"{source} has {different} different values in its label column '{label}': they {what} can be"
        " learned; name another column, or put the values into groups.",
        column=label,
    )


def _notes(
    table: pa.Table,
    labels: Sequence[str],
    proposals: Mapping[str, ColumnProposal],
    left_out: Collection[str],
) -> Iterator[str]:
    for column, proposal in proposals.items():
        if proposal.note:
            unused = ", and is ignored" if proposal.use == "ignore" else ""
            yield f"Column '{column}' {proposal.note}{unused}."
    if left_out:
        yield (
            f"Classes that fewer than {MIN_HOLDERS} records have are left out: add to classes what can"
            " occur, known from what is diagnosed and not from these records."
        )
    elif len(labels) == 1:
        counted = pc.value_counts(table[labels[0]]).to_pylist()
        single = [str(one["values"]) for one in counted if one["counts"] == 1]
        if single:
            yield f"Only one record has the class {', '.join(single)}."
    columns = [name for name, proposal in proposals.items() if proposal.use == "feature"]
    repeated = len(table) - len(table.select([*columns, *labels]).group_by([*columns, *labels]).aggregate([]))
    if repeated:
        yield f"{repeated} of {len(table)} records repeat another one."
