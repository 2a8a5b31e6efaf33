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
    NAME = 3
    """What a person is called, or where to be found: of others too, so that it tells nothing apart."""


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
"""Words that call a column of persons' ids as they stand, unless it says yes or no."""
MIN_IDS = 3
"""Different values, in fewer of which a column called `patient` or `telephone` says yes or no."""
_RECORDS = ("record", "rec", "row")
_THINGS = (
    *("sample", "visit", "encounter", "enc", "stay", "icustay", "hadm", "adm", "admission", "study", "site"),
    *("center", "centre", "ward", "hosp", "hospital", "doctor", "provider", "order", "test", "device"),
    *("account", "family", "household", "hh", "event"),
    *("fall", "aufenthalts", "besuchs", "proben", "auftrags", "krankenhaus", "klinik", "haushalts"),
)
_COUNTED = frozenset(("visit", "besuchs", "test", "event"))
"""What a person has a first, a second and a third of, so that its number may be a measure."""
_NAMES = re.compile(
    "((sur|fore|first|last|middle|family|given|full|maiden|patient|patienten|person|subject|participant"
    "|vor|nach|zu|familien|geburts)?names?|e?mail|telephone|phone|telefon|address|adresse)"
    "(number|nummer|address|adresse)?"
)
"""What persons are called, and where they are found."""
_DOUBTFUL = re.compile(r"case|part(?!icipant)|(?<![a-z])p(?![a-z])", re.IGNORECASE)
"""A case may be one of a person's stays, and a part none: good enough to keep records together."""
_WHOLE_NAMES = frozenset(("pid", "pidnum", "mrn", "empi", "ssn", "seqn", "pseudonym", "svnr", "kvnr"))
"""Names of persons' ids in registers and surveys."""
_MARKS = ("id", "nr", "no", "num", "number", "nbr", "nummer", "kennung", "identifier", "reference")
_SURE_MARKS = frozenset(("id", "ids", "uuid", "guid", "kennung", "identifier"))
"""Words that no quantity is called by."""
_NUMBERS = frozenset(("nr", "no", "num", "key", "index", "seq"))
"""Words of ids where no two records have the same value, and of quantities elsewhere: body_mass_index."""
_GLUED = re.compile(f"({'|'.join((*_PERSONS, *_RECORDS, *_THINGS))})({'|'.join(_MARKS)})")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W_\d]+|\d+")
_ROW_NAMES = re.compile(
    r"unnamed: ?\d+(\.\d+)?|row[ _.-]?(names?|ids?|n[ro]|num|number|index)\.?|#|n[or]\."
    r"|(lfd|laufende)[ _.]*(nr|nummer)\.?|zeilen?[ _-]?(nr|nummer)\.?|s(l|r|erial)?[ _.]+(no|number)\.?"
    r"|level_0|__index_level_\d+__|\.\.\.1",
    re.IGNORECASE,
)
"""What people, pandas and R call the numbers of rows, whatever became of the rows since."""
_UNIQUE_ROW_NAMES = frozenset(("index", "Index", "row", "Row", "no", "No", "nr", "Nr"))
"""Those by which measures are called as well, whose values repeat."""
_COUNTING_ROW_NAMES = frozenset(("X", "V1"))
"""Those of R, by which anything may be called."""
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
    """Whether ids of this name are persons', beyond doubt."""
    return id_kind(name) is IdKind.PERSON and not _DOUBTFUL.search(name)


def may_be_id(name: str) -> bool:
    """Whether a column whose values all differ is an id by its name."""
    words = [word.lower() for word in _WORD.findall(name)]
    return id_kind(name) is not None or bool(words and words[-1] in (*_NUMBERS, *_PERSONS))


def names_person(name: str) -> bool:
    """Whether a column's values tell persons apart, by its name."""
    return id_kind(name) is IdKind.PERSON


def has_ids(name: str, values: pa.ChunkedArray) -> bool:
    """Whether a column is one of ids or names by its name; `patient` may say yes or no as well."""
    kind = id_kind(name)
    if kind is IdKind.NAME or name.strip().lower() in _PERSON_WORDS:
        return len(pc.unique(pc.drop_null(values))) >= MIN_IDS
    return kind is not None


def is_row_number(name: str, values: pa.ChunkedArray) -> bool:
    """Whether whole numbers are those of rows, by their name; where others are called so, by how they run."""
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
