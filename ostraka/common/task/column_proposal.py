"""Proposals of how a task should describe a single column of a table of records."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from ostraka.common.console.texts import list_words
from ostraka.common.datasets.date_columns import read_days
from ostraka.common.datasets.number_columns import (
    LARGEST_WHOLE,
    are_plain_numbers,
    infer_numbers,
    note_rounded,
    read_numbers,
)
from ostraka.common.datasets.reading import Origin
from ostraka.common.datasets.unreadable import UnreadableValuesError
from ostraka.common.datasets.word_columns import TRUTH_WORDS, find_alike, is_missing, texts, truth_family
from ostraka.common.task.columns import INDICATOR, Column, NamedColumn
from ostraka.common.task.id_columns import (
    MIN_RECORDS_FOR_ID,
    are_given,
    has_ids,
    is_row_number,
    may_be_id,
)
from ostraka.common.task.sentinels import note_missing, note_missing_days
from ostraka.common.validation import problem_text

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
"""Date formats, some with times that are dropped, and the pattern of text in that format."""
DAY_SHAPE = r"^[12]\d{3}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$"
"""Only about 4 % of arbitrary eight-digit numbers match it; 30 February does."""
TWIN_FORMATS = {
    first + time: second + time
    for one, other in (("%d/%m/%Y", "%m/%d/%Y"), ("%d-%m-%Y", "%m-%d-%Y"))
    for first, second in ((one, other), (other, one))
    for time in _TIMES
}
"""Pairs of formats that both fit if the day is 12 or less."""
SHORT_YEAR = r"\d{1,2}([./-])\d{1,2}([./-])\d{2}"
"""A day that does not state its century."""
ODD_DAY = r"\d{1,4}[./\- ]+(\d{1,2}|[^\d\s./-]{3,9}\.?)[./\- ]+\d{2,4}.*"
"""Text that may be a day in a format that is not in the list."""
DAY_NUMBER = r"[2-6]\d{4}"
"""A day of 1954 to 2091, as spreadsheets count days."""
SECONDS = (6e8, 2.2e9)
"""The seconds from 1970 to 1989 and to 2039."""
_MONTH = "jan|feb|mar|mär|mrz|apr|may|mai|jun|jul|aug|sept?|oct|okt|nov|dec|dez"
CONVERTED = rf"^(?i:\d{{1,2}}[-. ]+({_MONTH})|({_MONTH})[-. ]+(\d{{1,2}}|\d{{4}}))\.?$"
"""What spreadsheets make of 1-3, or of a gene's name such as MARCH1."""
MONTH_OF_YEAR = rf"(?i:({_MONTH})[-. ]+\d{{2}}(\d{{2}})?)"
"""A month of a year, unless a spreadsheet made it."""
DAY_NAME = re.compile(r"date|datum|fecha|(?<![a-z])(dob|day|tag)(?![a-z])", re.IGNORECASE)
"""Names of columns that contain days."""
ODD_NUMBER = r"([$€£¥'<>≤≥~+(" "\u2212" r"-]\s?)?\d[\d.,' ]*([eE][+-]?\d+)?\s?[^\d\s]{0,9}"
"""A number, perhaps with a sign before it or a unit after it."""
SEVERAL_NUMBERS = r"\d[\d.,]*\s?[/:-]\s?\d[\d.,]*(:\d+)?|0[xX][0-9a-fA-F]+"
"""Fractions, ranges, blood pressures, times of day, hexadecimal numbers."""
DIGITS = r"0\d+|\d{16,}"
"""A code of digits, such as 01067, or more digits than floats preserve; not a number."""
UNDERSCORED = r"[+-]?\d{1,3}(_\d{3})+(\.\d+)?"
"""A number as programming languages may write it, and no other notation."""
MAX_CATEGORY_VALUES = 50
"""Maximum number of distinct values for text to be a category."""
MAX_NON_NUMERIC_SHARE = 0.1
"""Maximum share of values that are not numbers in a text column that is proposed as numeric."""
MIN_NUMERIC_SHARE = 0.5
"""Share of numbers above which text with many distinct values is taken for numbers with exceptions."""
MIN_HOLDERS = 10
"""Minimum number of records with a category or class before its name is shown to other sites."""
EPOCH = np.datetime64(0, "D")


@dataclass(frozen=True)
class ColumnProposal:
    """A column as a task describes it, or the reason why the task leaves it out.

    Attributes:
        use: "feature", "id", or "ignore".
        fields: the fields of a feature, without its name, that do not depend on a single record.
        found: the fields that a single record may decide, and that would reveal something about it: the
            range, whether all numbers are whole, whether values are missing.
        note: what a person should know; empty if nothing is special.
    """

    use: Literal["feature", "id", "ignore"]
    fields: Mapping[str, Any] = field(default_factory=dict)
    found: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""


_TABLE = Origin("the table")


def propose_column(
    name: str, values: pa.ChunkedArray, *, public: bool, origin: Origin = _TABLE
) -> ColumnProposal:
    """Propose a use for a column; rare categories are left out unless the records are `public`."""
    if is_row_number(name, values):
        return ColumnProposal("ignore", note="numbers the rows")
    if values.null_count == len(values):
        return ColumnProposal("ignore", note="is empty")
    try:
        if has_ids(name, values) or (may_be_id(name) and all_differ(values)):
            # Raises for ids that lost digits as floats: such ids do not distinguish records.
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
    """Return the proposal, with a note if whole numbers in a column named like a date look like days."""
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
        # Checking the first text alone rules out most formats quickly.
        if re.fullmatch(shape, first, re.ASCII) and _all_match(present, shape)
    ):
        try:
            return _date(read_days(values, form), form, ambiguous=_fits_twin(values, form))
        except UnreadableValuesError as exc:
            # Eight digits that are mostly not days are ids or codes.
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
            f"has {odd!r} and more that is not a number: write numbers there, or leave it empty"
            if odd
            else "",
        )
    told_odd = note_converted(present) or _note_odd(present) or _note_written(present, share, odd)
    if len(told) <= min(MAX_CATEGORY_VALUES, len(present) / 2):
        proposal = _category(words, present, public=public)
        return replace(proposal, note="; ".join(filter(None, (told_odd, proposal.note))))
    if told_odd:
        return ColumnProposal("ignore", note=told_odd)
    if all_differ(present) and len(present) == len(words) >= MIN_RECORDS_FOR_ID:
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
    # As float32, so that the range contains the codes, which are float32.
    low, high = (float(str(np.float32(end))) for end in (known.min(), known.max()))
    whole = bool((np.trunc(known) == known).all()) and max(abs(low), abs(high)) <= LARGEST_WHOLE
    told: dict[str, Any] = {"dtype": "int32" if whole else "float32"}
    if len(known) < len(found):
        told["missing"] = INDICATOR
    told |= {"min": low, "max": high}
    note = note or note_missing(known) or _note_times(known) or note_rounded(known)
    return ColumnProposal("feature", found=told, note=note or _constant(low == high))


def _note_times(known: NDArray[np.float64]) -> str:
    """Return a phrase about whole numbers that may be seconds or milliseconds since 1970."""
    whole = (np.trunc(known) == known).all()
    for unit, what in ((1, "seconds"), (1000, "milliseconds")):
        if whole and SECONDS[0] * unit <= known.min() and known.max() <= SECONDS[1] * unit:
            return f"has numbers that may be {what} since 1970: write days if they are times"
    return ""


def note_converted(words: pa.ChunkedArray) -> str:
    """Return a phrase about words (N,) that a spreadsheet may have made; empty if none, or all are months."""
    found = pc.filter(words, pc.match_substring_regex(words, CONVERTED))
    if not len(found) or _all_match(words, MONTH_OF_YEAR):
        return ""
    return (
        f"has {found[0].as_py()!r} in {len(found)} records, which spreadsheets make of text such as 1-3 or"
        " MARCH1: write what it was"
    )


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
    note = note or note_missing_days(found)
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
    """Whether all days in this format are also days in its twin."""
    twin = TWIN_FORMATS.get(form or "")
    return twin is not None and _days_or_none(values, twin) is not None


def _are_compact_days(values: pa.ChunkedArray) -> bool:
    """Whether text or whole numbers look like days of eight digits, even days that do not exist."""
    if pa.types.is_integer(values.type):
        ends = pc.min_max(values).as_py()
        # Conversion to text is slow, and most columns have numbers of other lengths.
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


def all_differ(values: pa.ChunkedArray) -> bool:
    """Whether all values are distinct."""
    return len(pc.unique(values)) == len(values)


def _numeric_share(present: pa.ChunkedArray) -> tuple[float, NDArray[np.float64], str]:
    """Return the share of values that are numbers, those numbers, and the first value that is not one."""
    fits = are_plain_numbers(present)
    found = pc.filter(present, fits).cast(pa.float64()).to_numpy()
    odd = pc.filter(present, pc.invert(fits))
    return len(found) / len(present), found, odd[0].as_py() if len(odd) else ""


def _note_odd(present: pa.ChunkedArray) -> str:
    """Return a phrase about the one word that keeps a column from being numeric; empty if there is none."""
    odd = pc.filter(present, pc.invert(are_plain_numbers(present)))
    # A word with digits is a code, or a number in another notation: 01067.
    if len(odd) == len(present) or len(pc.unique(odd)) != 1 or re.search(r"\d", odd[0].as_py()):
        return ""
    return (
        f"has {odd[0].as_py()!r} in {len(odd)} records; without it the column is numbers: leave it empty"
        " where it means that nothing is known"
    )


def _note_written(present: pa.ChunkedArray, share: float, odd: str) -> str:
    """Return a phrase about text that may be numbers or days in an unusual notation."""
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
    if _all_match(present, f"{SEVERAL_NUMBERS}|{ODD_NUMBER}"):
        examples = _examples(present, r"\d+")
        return (
            f"has text such as {list_words(examples)}, which is not read as numbers or days: write these,"
            " unless it names categories"
        )
    return ""


def _examples(present: pa.ChunkedArray, run: str) -> list[str]:
    """Return the first text, and the first text that differs after each `run` of characters becomes a 0."""
    forms = pc.replace_substring_regex(present, run, "0")
    other = pc.filter(present, pc.not_equal(forms, forms[0]))
    return [repr(word.as_py()) for word in (present[0], *other[:1])]


def _days_or_none(values: pa.ChunkedArray, form: str | None) -> NDArray[np.float64] | None:
    """Return the days of text in this format; None if the text has another format."""
    try:
        return read_days(values, form)
    except UnreadableValuesError:
        return None


_COLUMN: TypeAdapter[NamedColumn] = TypeAdapter(Column)


def drop_unreadable(
    proposal: ColumnProposal, values: pa.ChunkedArray, origin: Origin, *, point_is_decimal: bool
) -> ColumnProposal:
    """Return the proposal if the proposed column can read its own values; otherwise propose to ignore it."""
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
