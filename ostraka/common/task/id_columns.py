"""Table columns that only identify records: ids, names of persons, and row numbers."""

from __future__ import annotations

import re
from enum import IntEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


class IdKind(IntEnum):
    """What an id identifies, judged by its column's name; of several columns the lowest kind is chosen."""

    PERSON = 0
    RECORD = 1
    OTHER = 2
    NAME = 3
    """A person's name or address; several persons may share it, so it is no id."""


_PERSONS = (
    *("patient", "pat", "person", "pers", "subject", "subj", "usubj", "participant", "part", "proband"),
    *("client", "member", "customer", "cust", "user", "case", "individual", "respondent", "p", "nhs"),
    *("patienten", "patientin", "probanden", "teilnehmer", "versicherten", "versicherungs", "kunden"),
)
_PERSON_WORDS = frozenset(
    (
        *("patient", "person", "subject", "subj", "usubj", "participant", "individual", "respondent"),
        *("patientin", "proband", "probandin", "teilnehmer", "teilnehmerin", "versicherter"),
    )
)
"""Words that as a whole column name mean persons' ids, unless the column's values mean yes or no."""
MIN_IDS = 3
"""Number of distinct values below which a column named `patient` or `telephone` means yes or no."""
_RECORDS = ("record", "rec", "row")
_THINGS = (
    *("sample", "visit", "encounter", "enc", "stay", "icustay", "hadm", "adm", "admission", "study", "site"),
    *("center", "centre", "ward", "hosp", "hospital", "doctor", "provider", "order", "test", "device"),
    *("account", "family", "household", "hh", "event"),
    *("fall", "aufenthalts", "besuchs", "proben", "auftrags", "krankenhaus", "klinik", "haushalts"),
)
_COUNTED = frozenset(("visit", "besuchs", "test", "event"))
"""Things that a person has several of in order, so that their number may be a measurement."""
_NAMES = re.compile(
    "((sur|fore|first|last|middle|family|given|full|maiden|patient|patienten|person|subject|participant"
    "|vor|nach|zu|familien|geburts)?names?|e?mail|telephone|phone|telefon|address|adresse)"
    "(number|nummer|address|adresse)?"
)
"""Names and addresses of persons."""
_DOUBTFUL = re.compile(r"case|part(?!icipant)|(?<![a-z])p(?![a-z])", re.IGNORECASE)
"""A case may be one of a person's stays, and a part something else: only good enough to group records."""
_WHOLE_NAMES = frozenset(("pid", "pidnum", "mrn", "empi", "ssn", "seqn", "pseudonym", "svnr", "kvnr"))
"""Names of persons' ids in registers and surveys."""
_MARKS = ("id", "nr", "no", "num", "number", "nbr", "nummer", "kennung", "identifier", "reference")
_SURE_MARKS = frozenset(("id", "ids", "uuid", "guid", "kennung", "identifier"))
"""Words that never name a quantity."""
_NUMBERS = frozenset(("nr", "no", "num", "key", "index", "seq"))
"""Words that name ids if all values are distinct, and otherwise quantities: body_mass_index."""
_GLUED = re.compile(f"({'|'.join((*_PERSONS, *_RECORDS, *_THINGS))})({'|'.join(_MARKS)})")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W_\d]+|\d+")
_ROW_NAMES = re.compile(
    r"unnamed: ?\d+(\.\d+)?|row[ _.-]?(names?|ids?|n[ro]|num|number|index)\.?|#|n[or]\."
    r"|(lfd|laufende)[ _.]*(nr|nummer)\.?|zeilen?[ _-]?(nr|nummer)\.?|s(l|r|erial)?[ _.]+(no|number)\.?"
    r"|level_0|__index_level_\d+__|\.\.\.1",
    re.IGNORECASE,
)
"""Names for row numbers by people, pandas and R, even if rows were moved since."""
_UNIQUE_ROW_NAMES = frozenset(("index", "Index", "row", "Row", "no", "No", "nr", "Nr"))
"""Names of row numbers that measurements have as well; measurements repeat values."""
_COUNTING_ROW_NAMES = frozenset(("X", "V1"))
"""R's names of row numbers, which any other column may have as well."""
MIN_RECORDS_FOR_ID = 20
"""With fewer records, texts may all differ by chance."""
MIN_RECORDS_FOR_NUMBERS = 100
"""With fewer records, measured whole numbers such as ages may all differ."""
_WHOLE = r"^(0|-?[1-9]\d{0,17})$"
"""A whole number of 64 bits as text, without leading zeros."""
_TOO_DENSE = 20.0
"""n whole numbers drawn from a range are all distinct with a chance of about exp(-n^2 / (2 range)).

Below e^-20 they were assigned, not measured.
"""


def id_kind(name: str) -> IdKind | None:
    """Return what a column's values identify, judged by its name; None if the name is not that of an id."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words:
        return None
    if _NAMES.fullmatch("".join(words)):
        return IdKind.NAME
    if len(words) == 1 and words[0] in _PERSON_WORDS:
        return IdKind.PERSON
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
    numbered = last in _MARKS and stem in _THINGS and stem not in _COUNTED
    if not glued and not numbered and last not in _SURE_MARKS:
        return None
    return IdKind.RECORD if stem in ("", *_RECORDS) else IdKind.OTHER


def tells_persons(name: str) -> bool:
    """Whether ids in a column of this name certainly identify persons."""
    return id_kind(name) is IdKind.PERSON and not _DOUBTFUL.search(name)


def may_be_id(name: str) -> bool:
    """Whether a column with distinct values is an id, judged by its name."""
    words = [word.lower() for word in _WORD.findall(name)]
    return id_kind(name) is not None or bool(words and words[-1] in (*_NUMBERS, *_PERSONS))


def names_person(name: str) -> bool:
    """Whether a column's values identify persons, judged by its name."""
    return id_kind(name) is IdKind.PERSON


def has_ids(name: str, values: pa.ChunkedArray) -> bool:
    """Whether a column contains ids or names, judged by its name; `patient` may also mean yes or no."""
    kind = id_kind(name)
    if kind is IdKind.NAME or name.strip().lower() in _PERSON_WORDS:
        return len(pc.unique(pc.drop_null(values))) >= MIN_IDS
    return kind is not None


def is_row_number(name: str, values: pa.ChunkedArray) -> bool:
    """Whether whole numbers are row numbers, judged by the name and, for ambiguous names, by the values."""
    numbers = _whole_numbers(values)
    if numbers is None:
        return False
    if name in _UNIQUE_ROW_NAMES:
        return len(np.unique(numbers)) == len(numbers)
    return _ROW_NAMES.fullmatch(name) is not None or (name in _COUNTING_ROW_NAMES and count_rows(values))


def count_rows(values: pa.ChunkedArray) -> bool:
    """Whether whole numbers count the rows from 0 or 1."""
    numbers = _whole_numbers(values)
    return numbers is not None and bool(numbers[0] in (0, 1) and (np.diff(numbers) == 1).all())


def are_given(values: pa.ChunkedArray) -> bool:
    """Whether whole numbers are ids, because so many distinct measurements would be very unlikely.

    Numbers that count the rows are excluded: they may measure time in a table sorted by time.
    """
    numbers = _whole_numbers(values) if len(values) >= MIN_RECORDS_FOR_NUMBERS else None
    if numbers is None or len(np.unique(numbers)) < len(numbers) or count_rows(values):
        return False
    spread = float(numbers.max()) - float(numbers.min()) + 1
    return len(numbers) ** 2 / (2 * spread) > _TOO_DENSE


def _whole_numbers(values: pa.ChunkedArray) -> NDArray[np.int64] | None:
    """Return whole numbers (N,), also from text; None if some value is missing or not whole."""
    if values.null_count or not len(values):
        return None
    if not pa.types.is_integer(values.type):
        text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
        if not text or not pc.all(pc.match_substring_regex(values, _WHOLE)).as_py():
            return None
    found: NDArray[np.int64] = values.cast(pa.int64(), safe=False).to_numpy()
    return found
