"""What a column of a table seems to hold, told from its values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostraka.common.task.named_column import INDICATOR, Codes
from ostraka.common.task.table_values import NO, YES, UnreadableValuesError, days, is_missing, numbers, texts

DATE_FORMATS = (None, "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%Y%m%d")
MOST_TOLD_APART = 50
"""Different values that text may have to be a category."""
MOST_TEXT = 0.1
"""Share of values that may be no numbers where a column of text is still one of numbers."""
LEAST_OF_IDS = 20
LEAST_HOLDERS = 10
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
        return _date(values, None)
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
        if _are_days(values, form):
            return _date(values, form)
    share, found, odd = _numeric_share(present)
    if share > 1 - MOST_TEXT:
        return _number(
            found, f"has {odd!r} and more that is no number: write numbers there, or leave it empty"
        )
    if len(told) <= min(MOST_TOLD_APART, len(present) / 2):
        return _category(words, present, public=public)
    if _all_differ(present) and len(present) == len(words) >= LEAST_OF_IDS:
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


def _date(values: pa.ChunkedArray, form: str | None) -> ColumnProposal:
    found = days(values, form)
    known = found[~np.isnan(found)].astype(np.int64)
    first, last = ((EPOCH + int(day)).astype(object) for day in (known.min(), known.max()))
    fields: dict[str, Any] = {"kind": "date"} | ({} if form is None else {"format": form})
    told: dict[str, Any] = {"missing": INDICATOR} if len(known) < len(found) else {}
    told |= {"min": first, "max": last}
    return ColumnProposal("feature", fields, told, _constant(first == last))


def _category(words: pa.ChunkedArray, present: pa.ChunkedArray, *, public: bool) -> ColumnProposal:
    holders = Counter(present.to_pylist())
    known = sorted(value for value, count in holders.items() if public or count >= LEAST_HOLDERS)
    rare = len(holders) - len(known)
    if not known:
        return ColumnProposal("ignore", note=f"has no value that {LEAST_HOLDERS} records hold")
    fields: dict[str, Any] = {"kind": "category", "values": known}
    if not public:
        fields["other"] = True
    note = f"has values that fewer than {LEAST_HOLDERS} records hold, which count as other" if rare else ""
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
    found, odd = [], ""
    for value in present.to_pylist():
        try:
            found.append(float(value))
        except ValueError:
            odd = odd or value
    return len(found) / len(present), np.array(found, np.float32), odd


def _are_days(values: pa.ChunkedArray, form: str | None) -> bool:
    try:
        days(values, form)
    except UnreadableValuesError:
        return False
    return True
