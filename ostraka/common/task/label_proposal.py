"""Proposals of what the label columns of a table contain: classes, a number, or several labels."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from ostraka.common.console.texts import list_words
from ostraka.common.datasets.label_columns import NUMBER
from ostraka.common.datasets.number_columns import infer_numbers
from ostraka.common.datasets.number_format import NumberFormat
from ostraka.common.datasets.reading import Origin, Reading
from ostraka.common.datasets.table_columns import class_labels, label_columns, target_numbers
from ostraka.common.datasets.table_files import Table
from ostraka.common.datasets.unreadable import UnreadableValuesError
from ostraka.common.datasets.word_columns import is_missing, texts
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task.column_proposal import MIN_HOLDERS, note_converted
from ostraka.common.task.columns import MAX_NAME, Name
from ostraka.common.task.id_columns import are_given, has_ids
from ostraka.common.task.sentinels import find_sentinels, note_missing
from ostraka.common.validation import MAX_SHOWN, did_you_mean

TargetKind = Literal["number", "class"]
"""Kind of a label column."""
FEW = 20
"""Maximum number of distinct numbers that always count as classes, not as a quantity."""
RECORDS_A_CLASS = 10
"""Average number of records per value below which numbers in a label column look like a quantity."""
NOTHING_KNOWN = frozenset(
    (
        *(
            "n.a.",
            "n.a",
            "n.d.",
            "n.d",
            "nd",
            "k.a.",
            "k.a",
            "-",
            "--",
            "?",
            ".",
            "unk",
            "unknown",
            "missing",
        ),
        *("#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!"),
        *("not known", "not available", "unbekannt", "keine angabe", "inconnu", "desconocido", "sconosciuto"),
    )
)
"""Words, in lower case, that often mean an unknown class, but may be a class; errors of spreadsheets."""

_JOINTS = re.compile("[;|,/+&]")
"""What people write between several labels in a cell."""


@dataclass(frozen=True)
class LabelProposal:
    """What label columns contain, as a task describes it.

    Attributes:
        fields: the fields of the task: its target, or its classes.
        found: the range of a target by its column; single records decide it.
        classes: all classes, including those that `fields` leaves out; empty for a number.
        left_out: classes with too few records to be shown to other sites.
        note: which numbers seem to mean that nobody knows; empty if there are none.
    """

    fields: Mapping[str, Any]
    found: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    classes: Sequence[str] = ()
    left_out: Collection[str] = ()
    note: str = ""

    @property
    def numeric(self) -> bool:
        """Whether the label is a number."""
        return "target" in self.fields


def propose_labels(
    table: pa.Table,
    labels: Sequence[str],
    origin: Origin,
    reading: Reading,
    *,
    public: bool,
    target: TargetKind | None,
) -> LabelProposal:
    """Propose the label fields for labelled records; raises what `propose_task` raises about labels."""
    if target == "number" or (target is None and _is_quantity(table, labels)):
        numbers = _target_numbers(table, labels, origin, reading, asked=target)
        ends = {"min": float(numbers.min()), "max": float(numbers.max())}
        return LabelProposal({"target": {"kind": "number"}}, {labels[0]: ends}, note=note_missing(numbers))
    classes, rare = _classes(table, labels, origin)
    left_out = () if public else rare
    fields: dict[str, Any] = {"classes": [name for name in classes if name not in left_out]}
    if len(labels) > 1:
        fields["multi_label"] = True
    return LabelProposal(fields, classes=classes, left_out=left_out)


def note_classes(table: pa.Table, labels: Sequence[str], proposed: LabelProposal) -> Iterator[str]:
    """Yield notes: which classes are left out, which have only one record, and which may mean unknown.

    The numbers of a target may mean unknown as well.
    """
    if proposed.left_out:
        yield (
            f"Classes that fewer than {MIN_HOLDERS} records have are left out: add to classes what can"
            " occur, known from what is diagnosed and not from these records."
        )
    if proposed.note:
        yield f"Column '{labels[0]}' {proposed.note}."
    if len(labels) > 1 or proposed.numeric:
        return
    if not proposed.left_out:
        counted = pc.value_counts(table[labels[0]]).to_pylist()
        single = [str(one["values"]) for one in counted if one["counts"] == 1]
        if single:
            yield f"Only one record has the class {', '.join(single)}."
    converted = note_converted(pc.drop_null(texts(table[labels[0]])))
    if converted:
        yield f"Column '{labels[0]}' {converted}."
    several = _several(proposed.classes)
    if several:
        yield (
            f"The class {list_words(list(map(repr, several)))} may be several labels of a record: give each"
            " label a column of 0 and 1 if a record can have several."
        )
    codes = _missing_codes(proposed.classes)
    for one in pc.value_counts(texts(table[labels[0]])).to_pylist():
        if one["values"].lower() in NOTHING_KNOWN or one["values"] in codes:
            yield (
                f"The class {one['values']!r} of {one['counts']} records may say that nobody knows:"
                " leave it empty there, and they are left out."
            )


def _several(classes: Sequence[str]) -> list[str]:
    """Return classes that seem to join several labels, such as 1;3, or a,b if a is a class."""
    parted = {name: [part.strip() for part in _JOINTS.split(name)] for name in classes}
    return [
        name
        for name, parts in parted.items()
        if all(parts) and len(parts) > 1 and (re.search("[;|]", name) or not set(parts).isdisjoint(classes))
    ]


def _missing_codes(classes: Sequence[str]) -> tuple[str, ...]:
    """Return labels, such as -9 or -9.0, that seem to mean an unknown class where all classes are numbers."""
    if not all(map(NUMBER.fullmatch, classes)):
        return ()
    numbers = find_sentinels(np.array(classes, float))
    return tuple(f"{number:g}{decimals}" for number in numbers for decimals in ("", ".0"))


def require_column(table: pa.Table, label: str, source: str) -> None:
    """Raise `data.missing` unless the label column exists."""
    if label in table.column_names:
        return
    raise OstrakaError(
        ErrorCode.DATA_MISSING,
        f"{source} has no column '{label}'{did_you_mean(label, table.column_names)}: name its label column;"
        f" it has {list_words(table.column_names)}.",
        column=label,
    )


def drop_unlabelled(table: pa.Table, labels: Sequence[str], origin: Origin) -> tuple[int, pa.Table, Origin]:
    """Return the count of records without a class, and the table without them; several labels keep gaps."""
    if len(labels) > 1:
        return 0, table, origin
    missing = is_missing(texts(table[labels[0]]))
    unlabelled = pc.sum(missing).as_py()
    if unlabelled == len(table):
        raise OstrakaError(
            ErrorCode.DATA_MISSING,
            f"No record of {origin} has a class in '{labels[0]}': add some that have one, or name another"
            " label column.",
            column=labels[0],
        )
    labelled = Table(table, origin, Reading()).keep(pc.invert(missing), "")
    return unlabelled, labelled.columns, labelled.origin


def note_gaps(labels: Sequence[str], unlabelled: int, records: int, *, numeric: bool) -> Iterator[str]:
    """Yield a note on the number of records that are left out because they have no class or number."""
    if unlabelled:
        what = "number" if numeric else "class"
        yield f"{unlabelled} of {records} records have no {what} in '{labels[0]}', and are left out."


def _is_quantity(table: pa.Table, labels: Sequence[str]) -> bool:
    """Whether the only label column contains numbers that are neither classes nor ids."""
    if len(labels) > 1 or has_ids(labels[0], table[labels[0]]):
        return False
    numbers = _numbers_or_words(table[labels[0]])
    if not _are_numbers(numbers):
        return False
    different = len(pc.unique(numbers))
    whole = pc.all(pc.equal(pc.trunc(numbers), numbers)).as_py()
    return not whole or (different > max(FEW, len(table) / RECORDS_A_CLASS) and not are_given(numbers))


def _are_numbers(values: pa.ChunkedArray) -> bool:
    kind = values.type
    numbers = pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_integer(kind)
    return bool(numbers)


def _target_numbers(
    table: pa.Table,
    labels: Sequence[str],
    origin: Origin,
    reading: Reading,
    *,
    asked: TargetKind | None,
) -> NDArray[np.float64]:
    """Return the numbers of the only label column (N,)."""
    if len(labels) > 1:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"--target {asked} is for one label column, and {len(labels)} are named.",
        )
    numbers, _ = target_numbers(Table(table, origin, reading), labels[0], NumberFormat())
    assert numbers is not None  # noqa: S101 - the column is there
    if numbers.min() == numbers.max():
        raise OstrakaError(
            ErrorCode.DATA_LABEL_RANGE,
            f"{origin} has one number only in '{labels[0]}', {numbers[0]:g}: add records with other ones, or"
            " name another label column.",
            column=labels[0],
        )
    return numbers


def note_numbers(table: pa.Table, labels: Sequence[str]) -> Iterator[str]:
    """Yield a note that more than two distinct numbers are taken for classes."""
    numbers = _numbers_or_words(table[labels[0]])
    if len(labels) > 1 or not _are_numbers(numbers) or len(pc.unique(numbers)) == 2:
        return
    yield (
        f"The {len(pc.unique(numbers))} different numbers in '{labels[0]}' are taken for classes; if they"
        " measure or count something, give --target number."
    )


def _classes(table: pa.Table, labels: Sequence[str], source: Origin) -> tuple[Sequence[str], Collection[str]]:
    """Return all classes, and those with fewer than `MIN_HOLDERS` records."""
    if len(labels) > 1:
        label_columns(table, tuple(labels), source, ())
        return labels, ()
    values = table[labels[0]]
    different = len(pc.unique(values))
    numbers = _numbers_or_words(values)
    if _are_numbers(numbers):
        whole = pc.all(pc.equal(pc.trunc(numbers), numbers)).as_py()
        if not whole or different > max(FEW, len(table) / RECORDS_A_CLASS):
            raise _no_classes(source, labels[0], different, "look like a quantity, and only classes")
    elif different > max(FEW, len(table) / 2):
        raise _no_classes(
            source, labels[0], different, "look like ids or free text, and only classes and numbers"
        )
    indices, names = class_labels(table, labels[0], None, source)
    assert indices is not None  # noqa: S101 - the column is there
    assert names is not None  # noqa: S101
    if len(names) < 2:
        raise OstrakaError(
            ErrorCode.DATA_LABEL_RANGE,
            f"{source} has one class only, {', '.join(names)}: add records of another one, or name"
            " another label column.",
            column=labels[0],
        )
    require_names(names, "class", str(source))
    holders = np.bincount(indices, minlength=len(names))
    return names, {name for name, count in zip(names, holders, strict=True) if count < MIN_HOLDERS}


def _numbers_or_words(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return labels as numbers if possible; labels with two readings stay words."""
    try:
        return infer_numbers(values)
    except UnreadableValuesError:
        return values


def _no_classes(source: Origin, label: str, different: int, what: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.DATA_LABEL_RANGE,
        f"{source} has {different} different values in its label column '{label}': they {what} can be"
        " learned; name another column, or put the values into groups. If they measure or count something,"
        " give --target number, which names values that cannot be read as numbers.",
        column=label,
    )


_NAME: TypeAdapter[str] = TypeAdapter(Name)


def require_names(names: Collection[str], what: str, source: str) -> None:
    """Raise `data.shape` for a name that a task cannot have."""
    for name in names:
        try:
            _NAME.validate_python(name)
        except ValidationError as exc:
            problem = (
                f"of {len(name)} characters, where a task takes {MAX_NAME}"
                if len(name) > MAX_NAME
                else "with line breaks, tabs or other control characters"
            )
            raise OstrakaError(
                ErrorCode.DATA_SHAPE,
                f"{source} has a {what} {name[:MAX_SHOWN]!r} {problem}: rename it in the table.",
            ) from exc
