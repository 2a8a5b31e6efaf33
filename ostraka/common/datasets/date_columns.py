"""Columns of calendar days; a time with a zone counts as the day in that zone."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ostraka.common.datasets.unreadable import TwoReadingsError, UnreadableValuesError, refuse
from ostraka.common.datasets.word_columns import texts, without_missing

Range: TypeAlias = tuple[datetime.date, datetime.date]
EPOCH = datetime.date(1970, 1, 1)
_ISO = re.compile(
    r"(\d{4}-\d{2}-\d{2})"
    r"([T ]([01]\d|2[0-3]):?[0-5]\d(:?[0-5]\d|:60)?([.,]\d+)?\s*(Z|UTC|[+-]\d{2}(:?\d{2})?)?)?"
)
_UNPARTED = re.compile(r"%[A-Za-z]%")
"""Adjacent parts of a format without a separator: 2021111 may be two different days."""
_RECKONED = re.compile(r"%[aAwujUWVG]")
"""Weekdays, days of the year, and weeks: strptime does not check them against the rest of the date."""
_SHORT_YEAR = re.compile(r"%[yx]")
"""Parts of a format that state a year of two digits."""
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)|\s+")
"""What people leave out when they write a format's numbers."""
_NUMBER = re.compile(r"\d+(\.\d+)?")
_COUNTED = "programs count days from different ones, so write the days that numbers stand for"


def read_days(
    values: pa.ChunkedArray, format: str | None, within: Range | None = None, *, clips: bool = False
) -> NDArray[np.float64]:
    """Return days since 1970-01-01 (N,), NaN where missing, from dates, times, or text in a strptime format.

    A year of two digits gets the century that puts the day into the range `within`. Without a range it gets
    strptime's century, 1969 to 2068.

    Raises `UnreadableValuesError` for values that are not days, for days that do not exist, for numbers that
    may lack a last zero (2021.1), and for years of two digits if two centuries fit the range, or if no
    century fits and `clips` is true.
    """
    kind = values.type
    types = pa.types
    numbers = types.is_integer(kind) or types.is_floating(kind)
    if types.is_string(kind) or types.is_null(kind) or (numbers and format is not None):
        written = without_missing(texts(values))
        if format is not None and "." not in format:
            # Missing values turn a column of 20211231 into floats.
            written = pc.replace_substring_regex(written, r"^(\d+)\.0$", r"\1")
        elif format is not None:
            _refuse_cut_decimals(written)
        return _read_texts(written, format, within, clips=clips)
    if types.is_timestamp(kind):
        return _as_floats(_local_days(values))
    if types.is_date(kind):
        return _as_floats(values.cast(pa.date32()))
    counted = f": {_COUNTED}" if numbers or types.is_decimal(kind) else ""
    raise UnreadableValuesError(f"holds values of type {kind}, which are not dates{counted}")


def _refuse_cut_decimals(written: pa.ChunkedArray) -> None:
    """Refuse 2021.1 in a column of numbers from which the last zero of 2021.10 may be gone."""
    decimals = pc.all(pc.match_substring_regex(written, r"^\d+\.\d{1,2}$")).as_py()
    zeros = pc.any(pc.match_substring_regex(written, r"\.[1-9]0$")).as_py()
    cut = np.flatnonzero(pc.fill_null(pc.match_substring_regex(written, r"\.[1-3]$"), False).to_numpy())
    if decimals is True and not zeros and len(cut):
        row = int(cut[0])
        text = written[row].as_py()
        raise TwoReadingsError(
            f"which has two readings: {text}, or {text}0 without its last zero? Write it as text, with all"
            " its digits",
            shown=repr(text),
            rows=len(cut),
            first=row,
        )


def _local_days(values: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        local = pc.local_timestamp(values) if values.type.tz is not None else values
    except pa.ArrowInvalid as exc:
        raise UnreadableValuesError(
            f"holds times of the zone '{values.type.tz}', which this computer does not know: install tzdata"
        ) from exc
    # Rounded down; a cast would round towards 1970.
    return pc.floor_temporal(local, unit="day").cast(pa.date32())


def _as_floats(values: pa.ChunkedArray) -> NDArray[np.float64]:
    found: NDArray[np.float64] = values.cast(pa.int32()).cast(pa.float64()).to_numpy()
    return found


def _read_texts(
    words: pa.ChunkedArray, format: str | None, within: Range | None, *, clips: bool
) -> NDArray[np.float64]:
    """Return the days of texts; each distinct text is parsed once."""
    parse: Callable[[str], datetime.date | None]
    parse = _iso_day if format is None else lambda text: _day_in_format(text, format)
    different = pc.unique(words)
    parsed = {text: parse(text) for text in different.to_pylist() if text is not None}
    days = {text: day for text, day in parsed.items() if day is not None}
    wrong = [text for text in parsed if text not in days]
    if wrong:
        shape = "such as 2026-12-31" if format is None else f"of the form {format}"
        if all(map(_NUMBER.fullmatch, wrong)):
            shape += f": {_COUNTED}"
        refuse(words, pc.is_in(words, pa.array(wrong, pa.string())), f"no dates {shape}")
    if format is not None and _SHORT_YEAR.search(format) and within is not None:
        days = {text: _of_century(text, day, within, clips=clips) for text, day in days.items()}
    numbers = [None if text is None else (days[text] - EPOCH).days for text in different.to_pylist()]
    found = pc.take(pa.array(numbers, pa.float64()), pc.index_in(words, different))
    return np.asarray(found.to_numpy(), np.float64)


def _iso_day(text: str) -> datetime.date | None:
    """Return the day of an ISO text; a time after it is dropped without conversion between zones."""
    written = _ISO.fullmatch(text)
    try:
        return datetime.date.fromisoformat(written[1]) if written else None
    except ValueError:
        return None


def _day_in_format(text: str, form: str) -> datetime.date | None:
    """Return the day that a text states in a format, or None if the text does not match the format.

    Leading zeros may be missing if a separator stands between the numbers.
    """
    try:
        time = datetime.datetime.strptime(text, form)
        printed = time.strftime(form)
    except (ValueError, OverflowError):
        return None
    if _UNPARTED.search(form):
        told = printed.casefold() == text.casefold()
    elif _RECKONED.search(form):
        told = _ZEROS.sub("", printed).casefold() == _ZEROS.sub("", text).casefold()
    else:
        told = True
    return time.date() if told else None


def _of_century(text: str, day: datetime.date, within: Range, *, clips: bool) -> datetime.date:
    first, last = within
    centuries = [-100, 0, 100]  # years to add to the year that strptime assumes
    days = [moved for years in centuries if (moved := _move(day, years)) is not None]
    fitting = [moved for moved in days if first <= moved <= last]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting and not clips:
        return day  # beyond the range, and refused later for that reason
    readings = " or ".join(moved.isoformat() for moved in fitting or days)
    raise TwoReadingsError(
        f"has {text!r}, which has several readings: {readings}? Write years of four digits, or a range of"
        " less than a hundred years to the column in the task"
    )


def _move(day: datetime.date, years: int) -> datetime.date | None:
    try:
        return day.replace(year=day.year + years)
    except ValueError:  # 29 February
        return None
