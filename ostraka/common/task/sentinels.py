"""Numbers and days that may be something else: a missing value (-999, 1900-01-01), or another unit."""

import datetime
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ostraka.common.console.texts import list_words
from ostraka.common.task.columns import Codes, DateColumn, NumberColumn
from ostraka.common.task.input import TableInput
from ostraka.common.task.target import NumberTarget

_REPEATED = tuple(float(digit * length) for digit in "89" for length in (1, 2, 3, 4, 5))
NUMBERS = (*(-number for number in _REPEATED), *(number for number in _REPEATED if number > 9))
"""What questionnaires and programs write for an unknown number: -9, 99, 8888."""
EPOCH = datetime.date(1970, 1, 1)
FIRST_DAYS = (datetime.date(1, 1, 1), datetime.date(1899, 12, 30), datetime.date(1900, 1, 1), EPOCH)
"""What programs write for a day that is empty or 0."""
LAST_DAY = datetime.date(9999, 12, 31)
_YEAR = 366
"""Days between a placeholder and all others from which it stands apart."""
NARROW = 0.05
"""Part of a range below which values may be in another unit: mg/dl of glucose are 18 times mmol/l."""
MIN_KNOWN = 20
"""Number of values below which they may take little of a range by chance."""


def find_sentinels(numbers: NDArray[np.floating]) -> tuple[float, ...]:
    """Return which of the numbers (N,) seem to mean a missing value; NaN is skipped.

    A negative one does if all other numbers are at least 0, or if it is more than ten times as far from 0
    as all others; a positive one if it exceeds twice all others.
    """
    known = numbers[~np.isnan(numbers)]
    suspect = np.isin(known, NUMBERS)
    rest = known[~suspect]
    if len(rest) in (0, len(known)):
        return ()
    least = float(rest.min())
    most = float(rest.max())
    lowest = 0.0 if least >= 0 else -10 * max(-least, most)
    highest = 2 * max(0.0, most)
    return tuple(one for one in np.unique(known[suspect]).tolist() if one < lowest or one > highest)


def note_sentinels(words: Sequence[str]) -> str:
    """Return a phrase about such values of a column; empty if there are none."""
    if not words:
        return ""
    return f"has {list_words(words)}, which may stand for a missing value: leave it empty there"


def note_missing(numbers: NDArray[np.floating]) -> str:
    """Return a phrase about the numbers (N,) that seem to mean a missing value; empty if there are none."""
    return note_sentinels([f"{number:g}" for number in find_sentinels(numbers)])


def note_missing_days(days: NDArray[np.floating]) -> str:
    """Return a phrase about the days since 1970 (N,) that seem to mean a missing one; NaN is skipped.

    9999-12-31 does. One of `FIRST_DAYS` does if it lies before all other days, by more than a year and more
    than any two neighbours among them lie apart: 1970-01-01 is one of many days of birth.
    """
    different = np.unique(days[~np.isnan(days)])
    placeholders = {(day - EPOCH).days: day for day in (*FIRST_DAYS, LAST_DAY)}
    rest = different[~np.isin(different, [*placeholders])]
    widest = max(_YEAR, np.diff(rest).max(initial=0))
    found = (placeholders[day] for day in different.tolist() if day in placeholders)
    told = [
        str(day) for day in found if day == LAST_DAY or (len(rest) and rest[0] - (day - EPOCH).days > widest)
    ]
    return note_sentinels(told)


def note_unit(numbers: NDArray[np.floating], described: NumberColumn | NumberTarget) -> str:
    """Return a phrase about numbers (N,) that take so little of their range that their unit may be another.

    NaN is skipped, and so are whole numbers: counts are often small.
    """
    known = numbers[~np.isnan(numbers)]
    if len(known) < MIN_KNOWN or (np.trunc(known) == known).all():
        return ""
    low = float(known.min())
    high = float(known.max())
    if not low < high < low + NARROW * (described.max - described.min):
        return ""
    unit = f" {described.unit}" if described.unit else ""
    possible = f"{described.min:g} to {described.max:g}{unit}"
    return f"has values from {low:.4g} to {high:.4g} alone, where {possible} can occur: check their unit"


def note_codes(expected: TableInput, codes: Codes) -> dict[str, str]:
    """Return, by column, a note on the codes (N, C) as they stand in a table.

    It says how many values are clipped, which seem to mean a missing value, and which may be in another unit.
    """
    low, high = (bound.astype(np.float32) for bound in expected.bounds())
    beyond = ((codes < low) | (codes > high)).sum(axis=0)
    suspect = np.any([(codes == np.float32(number)).any(axis=0) for number in NUMBERS], axis=0)
    notes = {}
    for index, column in enumerate(expected.parts):
        told = []
        if column.clips and beyond[index]:
            told.append(f"values beyond its range that count as its end: {beyond[index]} of {len(codes)}")
        if isinstance(column, DateColumn):
            told.append(note_missing_days(codes[:, index] + (column.min - EPOCH).days))
        elif isinstance(column, NumberColumn) and suspect[index]:
            told.append(note_missing(codes[:, index]))
        if isinstance(column, NumberColumn):
            told.append(note_unit(codes[:, index], column))
        phrase = "; ".join(filter(None, told))
        if phrase:
            notes[column.name] = phrase
    return notes
