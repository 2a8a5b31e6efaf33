"""A first task proposed from a table of labelled records, by what each column seems to hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from ostraka.common.console.texts import list_words
from ostraka.common.datasets.date_columns import read_days
from ostraka.common.datasets.number_columns import are_plain_numbers, infer_numbers, read_numbers
from ostraka.common.datasets.number_format import NumberFormat
from ostraka.common.datasets.plain_columns import plain_types
from ostraka.common.datasets.reading import Origin, Reading
from ostraka.common.datasets.table_columns import class_labels, label_columns, target_numbers
from ostraka.common.datasets.table_files import Table
from ostraka.common.datasets.unreadable import UnreadableValuesError
from ostraka.common.datasets.word_columns import (
    NUMBER,
    TRUTH_WORDS,
    find_alike,
    is_missing,
    texts,
    truth_family,
)
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task.columns import INDICATOR, MAX_NAME, Column, Name, NamedColumn, tidy
from ostraka.common.task.id_columns import (
    MIN_RECORDS_FOR_ID,
    IdKind,
    are_given,
    has_ids,
    id_kind,
    is_row_number,
    may_be_id,
    names_person,
    tells_persons,
)
from ostraka.common.task.sentinels import LAST_DAY, find_sentinels, note_sentinels
from ostraka.common.task.task import Task, task_problem
from ostraka.common.validation import MAX_SHOWN, did_you_mean, problem_text

COMPACT = "%Y%m%d"
_DAYS = {
    "%d.%m.%Y": r"\d{1,2}\.\d{1,2}\.\d{4}",
    "%d/%m/%Y": r"\d{1,2}/\d{1,2}/\d{4}",
    "%m/%d/%Y": r"\d{1,2}/\d{1,2}/\d{4}",
    "%d-%m-%Y": r"\d{1,2}-\d{1,2}-\d{4}",
    "%m-%d-%Y": r"\d{1,2}-\d{1,2}-\d{4}",
    "%Y/%m/%d": r"\d{4}/\d{1,2}/\d{1,2}",
    "%d-%b-%Y": r"\d{1,2}-[A-Za-z]{3}-\d{4}",
    "%d%b%Y": r"\d{1,2}[A-Za-z]{3}\d{4}",
}
_TIMES = {"": "", " %H:%M": r" \d{1,2}:\d{2}", " %H:%M:%S": r" \d{1,2}:\d{2}:\d{2}"}
DATE_FORMATS: Mapping[str | None, str] = {
    None: r"\d{4}-\d{2}-\d{2}([T ].*)?",
    **{day + time: _DAYS[day] + _TIMES[time] for day in _DAYS for time in _TIMES},
    COMPACT: r"\d{8}",
}
"""Forms of days, with times that are cut off, and what text of that form looks like."""
DAY_SHAPE = r"^[12]\d{3}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$"
"""Of eight digits hardly 4 % of any numbers have it, and 30.02. does."""
TWIN_FORMATS = {
    first + time: second + time
    for one, other in (("%d/%m/%Y", "%m/%d/%Y"), ("%d-%m-%Y", "%m-%d-%Y"))
    for first, second in ((one, other), (other, one))
    for time in _TIMES
}
"""Forms that days up to the twelfth fit alike."""
SHORT_YEAR = r"\d{1,2}([./-])\d{1,2}([./-])\d{2}"
"""A day that does not say its century."""
ODD_DAY = r"\d{1,4}[./\- ]+(\d{1,2}|[^\d\s./-]{3,9}\.?)[./\- ]+\d{2,4}.*"
"""Text that may be a day in a form that is not known here."""
DAY_NUMBER = r"[2-6]\d{4}"
"""A day of 1954 to 2091, as spreadsheets count them."""
DAY_NAME = re.compile(r"date|datum|fecha|(?<![a-z])(dob|day|tag)(?![a-z])", re.IGNORECASE)
"""What columns of days are called."""
ODD_NUMBER = r"([$€£¥'<>≤≥~+(" "\u2212" r"-]\s?)?\d[\d.,' ]*([eE][+-]?\d+)?\s?[^\d\s]{0,9}"
"""A number, perhaps with a sign before it or a unit behind it."""
DIGITS = r"0\d+|\d{16,}"
"""A code of digits, such as 01067, or more than floats keep, which is no number."""
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
        *("not known", "not available", "unbekannt", "keine angabe", "inconnu", "desconocido", "sconosciuto"),
    )
)
"""Words of people, in small letters, that may say that nobody knows a class, and may be one."""
UNDERSCORED = r"[+-]?\d{1,3}(_\d{3})+(\.\d+)?"
"""A number as programs may write it, and no other one."""
MAX_CATEGORY_VALUES = 50
"""Different values that text may have to be a category."""
MAX_NON_NUMERIC_SHARE = 0.1
"""Share of values that may be no numbers where a column of text is still one of numbers."""
MIN_NUMERIC_SHARE = 0.5
"""Share of numbers beyond which text of many different values is taken for numbers with exceptions."""
MIN_HOLDERS = 10
"""Records that must hold a category, or have a class, that is told to other sites."""
EPOCH = np.datetime64(0, "D")
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


_TABLE = Origin("the table")


def propose_column(
    name: str, values: pa.ChunkedArray, *, public: bool, origin: Origin = _TABLE
) -> ColumnProposal:
    """Return what a column seems to hold; rare categories of records that are not `public` are left out."""
    if is_row_number(name, values):
        return ColumnProposal("ignore", note="numbers the rows")
    if values.null_count == len(values):
        return ColumnProposal("ignore", note="is empty")
    try:
        if has_ids(name, values) or (may_be_id(name) and _all_differ(values)):
            # What floats cut off is told here: such ids tell nobody apart.
            texts(values)
            return ColumnProposal("id")
        proposal = _by_type(
            texts(values) if _are_compact_days(values) else infer_numbers(values),
            public=public,
            origin=origin,
        )
    except UnreadableValuesError as exc:
        return ColumnProposal("ignore", note=exc.tell(origin))
    return _note_day_numbers(name, proposal)


def _note_day_numbers(name: str, proposal: ColumnProposal) -> ColumnProposal:
    """Return the proposal, with a note where whole numbers look like days under a name of days."""
    ends = [proposal.found.get(end) for end in ("min", "max")]
    counted = all(isinstance(end, float) and re.fullmatch(DAY_NUMBER, f"{end:.0f}") for end in ends)
    if proposal.note or not counted or not DAY_NAME.search(name):
        return proposal
    return replace(proposal, note="has numbers that may be days as spreadsheets count them: write days")


def _by_type(values: pa.ChunkedArray, *, public: bool, origin: Origin) -> ColumnProposal:
    kind = values.type
    if pa.types.is_boolean(kind):
        return ColumnProposal("feature", {"kind": "boolean"}, _missing(values))
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _date(read_days(values, None), None)
    if pa.types.is_string(kind):
        return _text(values, public=public, origin=origin)
    found = read_numbers(values).values
    if are_given(values):
        return ColumnProposal("id", note="has whole numbers of which no two are the same, as ids are")
    return _number(found)


def _text(values: pa.ChunkedArray, *, public: bool, origin: Origin) -> ColumnProposal:
    words = texts(values)
    present = pc.filter(words, pc.invert(is_missing(words)))
    if not len(present):
        return ColumnProposal("ignore", note="is empty")
    told = set(pc.unique(pc.utf8_lower(present)).to_pylist())
    if truth_family(told) is not None:
        return ColumnProposal("feature", {"kind": "boolean"}, _missing(words))
    refused = ""
    first = present[0].as_py()
    for form in (
        form
        for form, shape in DATE_FORMATS.items()
        # The first one tells most forms apart, at once.
        if re.fullmatch(shape, first, re.ASCII) and _all_match(present, shape)
    ):
        try:
            return _date(read_days(values, form), form, ambiguous=_fits_twin(values, form))
        except UnreadableValuesError as exc:
            # Eight digits that are mostly no days are ids, or codes.
            refused = "" if form == COMPACT and not _have_day_shape(present) else exc.tell(origin)
    if refused:
        return ColumnProposal("ignore", note=refused)
    if _all_match(present, SHORT_YEAR):
        return ColumnProposal(
            "ignore",
            note=f"has days such as {present[0].as_py()!r}, which do not say their century: write"
            " years of four digits",
        )
    if _all_match(pc.filter(present, pc.invert(are_plain_numbers(present))), UNDERSCORED):
        return ColumnProposal("ignore", note="has numbers with underscores, as 1_000: write them without")
    share, numeric, odd = _numeric_share(present)
    if share > 1 - MAX_NON_NUMERIC_SHARE:
        gap = np.full(min(1, len(words) - len(present)), np.nan)
        return _number(
            np.append(numeric, gap),
            f"has {odd!r} and more that is no number: write numbers there, or leave it empty" if odd else "",
        )
    told_odd = _note_odd(present) or _note_written(present, share, odd)
    if len(told) <= min(MAX_CATEGORY_VALUES, len(present) / 2):
        proposal = _category(words, present, public=public)
        return replace(proposal, note="; ".join(filter(None, (told_odd, proposal.note))))
    if told_odd:
        return ColumnProposal("ignore", note=told_odd)
    if _all_differ(present) and len(present) == len(words) >= MIN_RECORDS_FOR_ID:
        return ColumnProposal("ignore", note="differs in every record")
    return ColumnProposal(
        "ignore", note=f'is text with {len(told)} different values (kind = "text" makes features of words)'
    )


def _number(found: NDArray[np.float64], note: str = "") -> ColumnProposal:
    known = found[~np.isnan(found)]
    if not len(known):
        return ColumnProposal("ignore", note="is empty")
    if np.isin(known, (0, 1)).all():
        told_missing = {"missing": INDICATOR} if len(known) < len(found) else {}
        return ColumnProposal(
            "feature", {"kind": "boolean"}, told_missing, note or _constant(known.min() == known.max())
        )
    # As float32 a range holds the codes, which are.
    low, high = (float(str(np.float32(end))) for end in (known.min(), known.max()))
    whole = bool((np.trunc(known) == known).all()) and max(abs(low), abs(high)) <= _LARGEST_WHOLE
    told: dict[str, Any] = {"dtype": "int32" if whole else "float32"}
    if len(known) < len(found):
        told["missing"] = INDICATOR
    told |= {"min": low, "max": high}
    note = note or note_sentinels([f"{number:g}" for number in find_sentinels(known)])
    return ColumnProposal("feature", found=told, note=note or _constant(low == high))


def _date(found: NDArray[np.float64], form: str | None, *, ambiguous: bool = False) -> ColumnProposal:
    known = found[~np.isnan(found)].astype(np.int64)
    first, last = ((EPOCH + int(day)).astype(object) for day in (known.min(), known.max()))
    fields: dict[str, Any] = {"kind": "date"} | ({} if form is None else {"format": form})
    told: dict[str, Any] = {"missing": INDICATOR} if len(known) < len(found) else {}
    told |= {"min": first, "max": last}
    note = (
        f"has days that fit {form} and {TWIN_FORMATS[form]}: write the right one"
        if form and ambiguous
        else ""
    )
    note = note or note_sentinels([str(LAST_DAY)] if last == LAST_DAY else [])
    return ColumnProposal("feature", fields, told, note or _constant(first == last))


def _category(words: pa.ChunkedArray, present: pa.ChunkedArray, *, public: bool) -> ColumnProposal:
    holders = Counter(present.to_pylist())
    known = sorted(value for value, count in holders.items() if public or count >= MIN_HOLDERS)
    rare = len(holders) - len(known)
    if not known:
        return ColumnProposal("ignore", note=f"has no value that {MIN_HOLDERS} records hold")
    fields: dict[str, Any] = {"kind": "category", "values": known}
    if not public:
        fields["other"] = True
    notes = [
        f"has {same}, which look alike: write them in one way if they are one" for same in find_alike(known)
    ]
    if {word.lower() for word in known} <= TRUTH_WORDS:
        told = list_words(list(map(repr, known)))
        notes.append(f"has {told}: if they say yes and no, write that in one way")
    if rare:
        notes.append(f"has values that fewer than {MIN_HOLDERS} records hold, which count as other")
    if len(holders) == 1:
        notes.append("has one value only")
    return ColumnProposal("feature", fields, _missing(words), "; ".join(notes))


def _missing(values: pa.ChunkedArray) -> dict[str, str]:
    missing = is_missing(values) if pa.types.is_string(values.type) else pc.is_null(values)
    return {"missing": INDICATOR} if pc.any(missing).as_py() else {}


def _constant(same: bool) -> str:
    return "has one value only" if same else ""


def _fits_twin(values: pa.ChunkedArray, form: str | None) -> bool:
    """Whether days of this form are days of its twin, too."""
    twin = TWIN_FORMATS.get(form or "")
    return twin is not None and _days_or_none(values, twin) is not None


def _are_compact_days(values: pa.ChunkedArray) -> bool:
    """Whether text or whole numbers are days of eight digits, though not of any calendar."""
    if pa.types.is_integer(values.type):
        ends = pc.min_max(values).as_py()
        # As text takes time: most columns have numbers of other lengths.
        if ends["min"] is None or ends["min"] < 10**7 or ends["max"] >= 10**8:
            return False
    elif not pa.types.is_string(values.type):
        return False
    words = texts(values)
    present = pc.filter(words, pc.invert(is_missing(words)))
    return _all_match(present, DATE_FORMATS[COMPACT]) and _have_day_shape(present)


def _have_day_shape(present: pa.ChunkedArray) -> bool:
    fits = pc.match_substring_regex(present, DAY_SHAPE)
    return bool((pc.mean(fits).as_py() or 0.0) > 1 - MAX_NON_NUMERIC_SHARE)


def _all_match(words: pa.ChunkedArray, shape: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(words, f"^({shape})$")).as_py())


def _all_differ(values: pa.ChunkedArray) -> bool:
    return len(pc.unique(values)) == len(values)


def _numeric_share(present: pa.ChunkedArray) -> tuple[float, NDArray[np.float64], str]:
    """Return the share of values that are numbers, these, and the first one that is none."""
    fits = are_plain_numbers(present)
    found = pc.filter(present, fits).cast(pa.float64()).to_numpy()
    odd = pc.filter(present, pc.invert(fits))
    return len(found) / len(present), found, odd[0].as_py() if len(odd) else ""


def _note_odd(present: pa.ChunkedArray) -> str:
    """Return a phrase about the one word without which texts are all numbers; empty where there is none."""
    odd = pc.filter(present, pc.invert(are_plain_numbers(present)))
    # A word with digits is a code, or a number written otherwise: 01067.
    if len(odd) == len(present) or len(pc.unique(odd)) != 1 or re.search(r"\d", odd[0].as_py()):
        return ""
    return (
        f"has {odd[0].as_py()!r} in {len(odd)} records; without it the column is numbers: leave it empty"
        " where it means that nothing is known"
    )


def _note_written(present: pa.ChunkedArray, share: float, odd: str) -> str:
    """Return a phrase about text that may be numbers or days, though it is not written so."""
    first = present[0].as_py()
    if any(sign.isdecimal() and not sign.isascii() for sign in first):
        return f"has digits of another script, as in {first!r}: write 0 to 9"
    if pc.any(pc.match_substring_regex(present, f"^({DIGITS})$")).as_py():
        return ""
    if share > MIN_NUMERIC_SHARE:
        others = len(present) - round(share * len(present))
        return f"is numbers but for {odd!r} and more in {others} records: write numbers there, or nothing"
    if _all_match(present, f"{ODD_DAY}|{DAY_NUMBER}"):
        examples = _examples(present, r"\pL+|\d+")
        how = "write all as 2026-12-31" if len(examples) > 1 else 'state kind = "date" and its format'
        return f"has text such as {list_words(examples)}: if it is a day, {how}"
    if _all_match(present, ODD_NUMBER):
        examples = _examples(present, r"\d+")
        how = "write all in one way, without sign or unit"
        return f"has text such as {list_words(examples)}: if it is a number, {how}"
    return ""


def _examples(present: pa.ChunkedArray, run: str) -> list[str]:
    """Return the first text, and the first of another form, in which each `run` of characters is one."""
    forms = pc.replace_substring_regex(present, run, "0")
    other = pc.filter(present, pc.not_equal(forms, forms[0]))
    return [repr(word.as_py()) for word in (present[0], *other[:1])]


def _days_or_none(values: pa.ChunkedArray, form: str | None) -> NDArray[np.float64] | None:
    """Return the days of text in this form; None where it has another."""
    try:
        return read_days(values, form)
    except UnreadableValuesError:
        return None


TargetKind = Literal["number", "class"]
"""What a label column is taken for."""
FEW = 20
"""Different numbers that labels may have without looking like a quantity."""
RECORDS_A_CLASS = 10
"""On average, below which numbers in a label column look like a quantity."""


NOTHING_READ = Reading()
"""Of a table in memory."""


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

    def fill_in(self) -> dict[str, Any]:
        """Return the fields with what was found in the records, which becomes public with the task."""
        columns = [column | self.found.get(column["name"], {}) for column in self.fields["input"]["columns"]]
        filled = {**self.fields, "input": {**self.fields["input"], "columns": columns}}
        if "target" in filled:
            filled["target"] = filled["target"] | self.found[filled["label"]]
        return filled

    def task(self) -> Task:
        """Return the completed task; raise `config.invalid` where it makes none."""
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

    A label column of numbers is a quantity, and becomes the task's target, where one of them is not whole, or
    they have more than `FEW` different values and fewer than `RECORDS_A_CLASS` records for each. Otherwise
    they are classes.

    Args:
        table: the records.
        labels: the label column; several make a multi-label task.
        name: of the task.
        source: where the records come from, or what they are called in errors.
        public: whether the records are public, so that rare categories and classes may be told.
        reading: what reading the table guessed.
        target: what the label column holds; None: as it looks.

    Raises:
        OstrakaError: `data.missing` for a label column that is not there, `data.label_range` for labels that
            look like an id, or like a quantity and are to be classes, or are all the same, `data.too_few` for
            a table without records, `data.shape` for names that no task can have, `data.not_numeric` where no
            column can be a feature, or the target is no number, `data.ambiguous` where it has two readings.
    """
    origin = source if isinstance(source, Origin) else Origin(source)
    source = str(origin)
    labels = tuple(map(tidy, labels))
    table = plain_types(table)
    if not len(table):
        raise OstrakaError(ErrorCode.DATA_TOO_FEW, f"{source} has no records: bring some.")
    for label in labels:
        _require_column(table, label, source)
    Table(table, origin, reading).require_one_reading(labels)
    _require_names(table.column_names, "column", source)
    records = table
    unlabelled, table, origin = _drop_unlabelled(table, labels, origin)
    rest = [column for column in table.column_names if column not in labels]
    proposals = {
        column: propose_column(column, table[column], public=public, origin=origin)
        if column not in reading.ambiguous
        else ColumnProposal("ignore", note=reading.ambiguous[column])
        for column in rest
    }
    proposals = {
        column: _mend(column, p, table[column], origin, point_is_decimal=reading.point_is_decimal)
        for column, p in proposals.items()
    }
    ids = [column for column, proposal in proposals.items() if proposal.use == "id"]
    lost = [column for column in rest if column not in ids and _may_tell_persons(column, table[column])]
    chosen = None if lost else _choose_id(table, ids)
    ignored = [column for column, proposal in proposals.items() if proposal.use == "ignore"]
    ignored += [column for column in ids if column != chosen]
    features = {column: p for column, p in proposals.items() if p.use == "feature"}
    if not features:
        raise _no_features(proposals, source)
    fields: dict[str, Any] = {"name": name}
    if len(labels) == 1:
        fields |= {"label": labels[0]}
    fields |= {"id": chosen} if chosen is not None else {}
    fields |= {"persons": True} if tells_persons(chosen or "") else {}
    fields |= {"ignore": ignored} if ignored else {}
    numeric = target == "number" or (target is None and _is_quantity(table, labels))
    classes: Sequence[str] = ()
    rare: Collection[str] = ()
    if numeric:
        numbers = _target_numbers(table, labels, origin, reading, asked=target)
        fields |= {"target": {"kind": "number"}}
    else:
        classes, rare = _classes(table, labels, origin)
        fields |= {"classes": [name for name in classes if public or name not in rare]}
    fields |= {"multi_label": True} if len(labels) > 1 else {}
    columns = [{"name": column, **proposal.fields} for column, proposal in features.items()]
    fields["input"] = {"kind": "table", "preprocessing": "range", "columns": columns}
    found = {column: proposal.found for column, proposal in features.items()}
    if numeric:
        found = {labels[0]: {"min": float(numbers.min()), "max": float(numbers.max())}, **found}
    left_out = () if public else rare
    proposal = TaskProposal(fields, found, ())
    notes = [
        *_gap_notes(labels, unlabelled, len(records), numeric=numeric),
        *_notes(table, labels, proposals, left_out, numeric=numeric),
    ]
    notes += [
        *([] if numeric or target is not None else _number_notes(table, labels)),
        *_header_notes(table.column_names),
        *_id_notes(table, chosen, ids),
        *(
            f"Classes that look alike: {names}. Write them in one way if they are one."
            for names in find_alike(fields.get("classes", ()))
        ),
        *_misfits(proposal, classes, table, origin),
    ]
    return replace(proposal, notes=tuple(notes))


_COLUMN: TypeAdapter[NamedColumn] = TypeAdapter(Column)


def _mend(
    name: str, proposal: ColumnProposal, values: pa.ChunkedArray, origin: Origin, *, point_is_decimal: bool
) -> ColumnProposal:
    """Return the proposal of a column that reads its own values; what would not is ignored."""
    if proposal.use != "feature":
        return proposal
    try:
        _COLUMN.validate_python({"name": "x", **proposal.fields, **proposal.found}).read(
            values, point_is_decimal=point_is_decimal
        )
    except ValidationError as exc:
        problem = problem_text(exc.errors()[0]).replace("column 'x' ", "")
        return ColumnProposal(
            "ignore", note=f"makes no {proposal.fields.get('kind', 'number')}: it {problem}"
        )
    except UnreadableValuesError as exc:
        return ColumnProposal("ignore", note=exc.tell(origin))
    return proposal


def _misfits(
    proposal: TaskProposal, classes: Sequence[str], table: pa.Table, origin: Origin
) -> Iterator[str]:
    """Say why the draft, completed by what was found, would not read its own table, if it would not."""
    completed = {**proposal.fields, **({"classes": list(classes)} if classes else {})}
    try:
        replace(proposal, fields=completed).task().read(table, source=origin)
    except OstrakaError as exc:
        yield f"As it is, the task does not fit its own records: {exc.message}"


def _may_tell_persons(name: str, values: pa.ChunkedArray) -> bool:
    """Whether a column tells persons apart by its name, though it may be one that no task reads."""
    return names_person(name) and has_ids(name, values)


def _choose_id(table: pa.Table, ids: Sequence[str]) -> str | None:
    """Return the column that tells persons apart, else the records; None where none of these does.

    None as well where persons' ids have gaps: another id would pass each of their records for a person.
    """
    ranks = {column: _rank(column, table[column]) for column in ids}
    known = [column for column in ids if ranks[column] is not None]
    chosen = min(known, key=lambda column: ranks[column] or 0, default=None)
    persons = any(map(names_person, ids))
    return None if chosen is None or (persons and not names_person(chosen)) else chosen


def _rank(name: str, values: pa.ChunkedArray) -> int | None:
    """Return how late a column is chosen as the id; ids of other things than persons must differ.

    One with gaps is none: nobody knows whose the records without are.
    """
    if pc.any(is_missing(texts(values))).as_py():
        return None
    kind = id_kind(name)
    if kind is IdKind.NAME:
        return None
    if kind in (IdKind.PERSON, IdKind.RECORD):
        return kind
    return IdKind.OTHER if _all_differ(values) else None


def _id_notes(table: pa.Table, chosen: str | None, ids: Sequence[str]) -> Iterator[str]:
    """Say that ids repeat, whether each is a person, and which are ignored."""
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
    """Ask whether names of columns are a record, where nearly all are numbers."""
    numbers = [name for name in names if re.fullmatch(NUMBER, name, re.ASCII)]
    if len(numbers) > len(names) / 2:
        told = list_words([repr(name) for name in numbers])
        yield f"Columns are called {told}: if the first line is a record, write one of names before it."


def _drop_unlabelled(table: pa.Table, labels: Sequence[str], origin: Origin) -> tuple[int, pa.Table, Origin]:
    """Return how many records have no class, and the table without them; of several labels each may lack."""
    if len(labels) > 1:
        return 0, table, origin
    missing = is_missing(texts(table[labels[0]]))
    unlabelled = pc.sum(missing).as_py()
    if unlabelled == len(table):
        raise OstrakaError(
            ErrorCode.DATA_MISSING,
            f"No record of {origin} has a class in '{labels[0]}': bring some, or name another label column.",
            column=labels[0],
        )
    labelled = Table(table, origin, Reading()).keep(pc.invert(missing), "")
    return unlabelled, labelled.columns, labelled.origin


def _gap_notes(labels: Sequence[str], unlabelled: int, records: int, *, numeric: bool) -> Iterator[str]:
    if unlabelled:
        what = "number" if numeric else "class"
        yield f"{unlabelled} of {records} records have no {what} in '{labels[0]}', and are left out."


def _no_features(proposals: Mapping[str, ColumnProposal], source: str) -> OstrakaError:
    notes = [f"column '{name}' {proposal.note or 'is an id'}" for name, proposal in proposals.items()]
    why = list_words(notes, "; ")
    return OstrakaError(
        ErrorCode.DATA_NOT_NUMERIC,
        f"{source} has no column that can be a feature{f' ({why})' if why else ''}: it needs numbers, dates,"
        " or values that repeat.",
    )


_NAME: TypeAdapter[str] = TypeAdapter(Name)


def _require_names(names: Collection[str], what: str, source: str) -> None:
    """Raise `data.shape` for a name that no task can have."""
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


def _require_column(table: pa.Table, label: str, source: str) -> None:
    if label in table.column_names:
        return
    raise OstrakaError(
        ErrorCode.DATA_MISSING,
        f"{source} has no column '{label}'{did_you_mean(label, table.column_names)}: name its label column;"
        f" it has {list_words(table.column_names)}.",
        column=label,
    )


def _is_quantity(table: pa.Table, labels: Sequence[str]) -> bool:
    """Whether the one label column holds numbers that are no classes, and no ids."""
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
    """Return the numbers of the one label column (N,)."""
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
            f"{origin} has one number only in '{labels[0]}', {numbers[0]:g}: bring records of other ones, or"
            " name another label column.",
            column=labels[0],
        )
    return numbers


def _number_notes(table: pa.Table, labels: Sequence[str]) -> Iterator[str]:
    """Say that numbers are taken for classes, where there are more than two."""
    numbers = _numbers_or_words(table[labels[0]])
    if len(labels) > 1 or not _are_numbers(numbers) or len(pc.unique(numbers)) == 2:
        return
    yield (
        f"The {len(pc.unique(numbers))} different numbers in '{labels[0]}' are taken for classes; if they"
        " measure or count something, give --target number."
    )


def _classes(table: pa.Table, labels: Sequence[str], source: Origin) -> tuple[Sequence[str], Collection[str]]:
    """Return all classes, and those that fewer than `MIN_HOLDERS` records have."""
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
            f"{source} has one class only, {', '.join(names)}: bring records of another one, or name"
            " another label column.",
            column=labels[0],
        )
    _require_names(names, "class", str(source))
    holders = np.bincount(indices, minlength=len(names))
    return names, {name for name, count in zip(names, holders, strict=True) if count < MIN_HOLDERS}


def _numbers_or_words(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return labels as numbers where they are; of two readings they are words."""
    try:
        return infer_numbers(values)
    except UnreadableValuesError:
        return values


def _no_classes(source: Origin, label: str, different: int, what: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.DATA_LABEL_RANGE,
        f"{source} has {different} different values in its label column '{label}': they {what} can be"
        " learned; name another column, or put the values into groups. If they are numbers, --target number"
        " says what keeps them from being read as such.",
        column=label,
    )


def _notes(
    table: pa.Table,
    labels: Sequence[str],
    proposals: Mapping[str, ColumnProposal],
    left_out: Collection[str],
    *,
    numeric: bool,
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
    elif len(labels) == 1 and not numeric:
        counted = pc.value_counts(table[labels[0]]).to_pylist()
        single = [str(one["values"]) for one in counted if one["counts"] == 1]
        if single:
            yield f"Only one record has the class {', '.join(single)}."
    if len(labels) == 1 and not numeric:
        for one in pc.value_counts(texts(table[labels[0]])).to_pylist():
            if one["values"].lower() in NOTHING_KNOWN:
                yield (
                    f"The class {one['values']!r} of {one['counts']} records may say that nobody knows:"
                    " leave it empty there, and they are left out."
                )
    columns = [name for name, proposal in proposals.items() if proposal.use == "feature"]
    repeated = len(table) - len(table.select([*columns, *labels]).group_by([*columns, *labels]).aggregate([]))
    if repeated:
        yield f"{repeated} of {len(table)} records repeat another one."
