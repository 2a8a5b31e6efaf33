"""Columns of a table that tell records apart and say nothing of them: ids, and numbers of rows."""

from __future__ import annotations

import re
from enum import IntEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


class IdKind(IntEnum):
    """What an id tells apart, by its name; of several columns the first kind is the records' id."""

    PERSON = 0
    RECORD = 1
    OTHER = 2


_PERSONS = (
    *("patient", "pat", "person", "pers", "subject", "subj", "usubj", "participant", "part", "proband"),
    *("client", "member", "customer", "cust", "user", "case", "individual", "respondent", "p"),
)
_RECORDS = ("record", "rec", "row")
_THINGS = (
    *("sample", "visit", "encounter", "enc", "stay", "icustay", "hadm", "adm", "admission", "study", "site"),
    *("center", "centre", "ward", "hosp", "hospital", "doctor", "provider", "order", "test", "device"),
    *("account", "family", "household", "hh", "event"),
)
_DOUBTFUL = re.compile(r"case|part(?!icipant)|(?<![a-z])p(?![a-z])", re.IGNORECASE)
"""A case may be one of a person's stays, and a part none: good enough to keep records together."""
_WHOLE_NAMES = frozenset(("pid", "pidnum", "mrn", "empi", "ssn", "seqn"))
"""Names of persons' ids in registers and surveys."""
_MARKS = ("id", "nr", "no", "num", "number", "nbr")
_SURE_MARKS = frozenset(("id", "ids", "uuid", "guid"))
"""Words that no quantity is called by."""
_NUMBERS = frozenset(("nr", "no", "num", "key", "index", "seq"))
"""Words of ids where no two records have the same value, and of quantities elsewhere: body_mass_index."""
_GLUED = re.compile(f"({'|'.join((*_PERSONS, *_RECORDS, *_THINGS))})({'|'.join(_MARKS)})")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W_\d]+|\d+")
_ROW_NAMES = re.compile(r"Unnamed: ?\d+|X|V1|row[ _.]?names?|index|level_0|__index_level_\d+__|\.\.\.1")
"""What pandas and R call the numbers of rows that they read and write."""
MIN_RECORDS_FOR_ID = 20
"""In fewer records any text may differ by chance."""
MIN_RECORDS_FOR_NUMBERS = 100
"""In fewer records whole numbers that all differ may be measured, such as ages."""
_WHOLE = r"^(0|-?[1-9]\d{0,17})$"
"""A whole number of 64 bits as text, without leading zeros."""
_TOO_DENSE = 20.0
"""n whole numbers drawn from a range all differ with a chance of about exp(-n^2 / (2 range)): where that is
below e^-20 they were given, not measured."""


def id_kind(name: str) -> IdKind | None:
    """Return what a column's name says that its values tell apart; None where it is no name of an id."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words:
        return None
    last = words[-1]
    glued = _GLUED.fullmatch(last)
    stem = glued[1] if glued else ""
    if not glued and last in _MARKS:
        stem = words[-2] if len(words) > 1 else ""
    elif not glued and words[0] in _SURE_MARKS:
        stem = words[1] if len(words) > 1 else ""
        last = words[0]
    if last in _WHOLE_NAMES or stem in _PERSONS:
        return IdKind.PERSON
    if not glued and last not in _SURE_MARKS:
        return None
    return IdKind.RECORD if stem in ("", *_RECORDS) else IdKind.OTHER


def tells_persons(name: str) -> bool:
    """Whether ids of this name are persons', beyond doubt."""
    return id_kind(name) is IdKind.PERSON and not _DOUBTFUL.search(name)


def may_be_id(name: str) -> bool:
    """Whether a column whose values all differ is an id by its name."""
    words = [word.lower() for word in _WORD.findall(name)]
    return id_kind(name) is not None or bool(words and words[-1] in (*_NUMBERS, *_PERSONS))


def is_row_number(name: str, values: pa.ChunkedArray) -> bool:
    """Whether whole numbers under a name that pandas or R give count the rows from 0 or 1."""
    return _ROW_NAMES.fullmatch(name) is not None and count_rows(values)


def count_rows(values: pa.ChunkedArray) -> bool:
    """Whether whole numbers count the rows from 0 or 1."""
    numbers = _whole_numbers(values)
    return numbers is not None and bool(numbers[0] in (0, 1) and (np.diff(numbers) == 1).all())


def are_given(values: pa.ChunkedArray) -> bool:
    """Whether whole numbers all differ though so many measured ones would not: they are ids.

    Those that count the rows may be a measure of time, in a table that is sorted by it.
    """
    numbers = _whole_numbers(values) if len(values) >= MIN_RECORDS_FOR_NUMBERS else None
    if numbers is None or len(np.unique(numbers)) < len(numbers) or count_rows(values):
        return False
    spread = float(numbers.max()) - float(numbers.min()) + 1
    return len(numbers) ** 2 / (2 * spread) > _TOO_DENSE


def _whole_numbers(values: pa.ChunkedArray) -> NDArray[np.int64] | None:
    """Return whole numbers (N,), also of text; None where a value is another or missing."""
    if values.null_count or not len(values):
        return None
    if not pa.types.is_integer(values.type):
        text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
        if not text or not pc.all(pc.match_substring_regex(values, _WHOLE)).as_py():
            return None
    found: NDArray[np.int64] = values.cast(pa.int64(), safe=False).to_numpy()
    return found
