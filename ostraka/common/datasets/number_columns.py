"""Columns of numbers: the whole column decides the notation, and any unusual notation is reported.

A text is a number in a notation: a decimal point or comma, and optionally a thousands separator. If a column
fits several notations that give different numbers, only notations that would print its numbers exactly so
remain: groups of three digits in all long numbers, and decimals without trailing zeros or all of one length.
If several notations still remain, the column is refused, unless the task states its decimal mark.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ostraka.common.datasets.label_columns import TRUTH
from ostraka.common.datasets.number_format import DecimalMark
from ostraka.common.datasets.unreadable import TwoReadingsError, UnreadableValuesError, refuse
from ostraka.common.datasets.word_columns import EXACT, NUMBER, texts, truth_values, without_missing

MARKS: tuple[DecimalMark, DecimalMark] = (".", ",")
_SPACES = "[\u00a0\u2009\u202f]"
"""Non-breaking and thin spaces, which stand between digits of one number."""
_QUOTES = "[\u2019\u02bc]"
_LOOKED_AT = 100
"""Number of cells that usually show whether points can separate thousands; otherwise all are checked."""
_PADDED = r"^[+-]?0\d"
LARGEST_WHOLE = 2**24
"""Whole numbers beyond this are not exact as float32."""
EQUAL_SHARE = 0.01
"""Fraction of distinct whole numbers from which it is told that they become equal to others."""
_MAX_DIGITS = 15
"""Number of digits that every float64 preserves."""


@dataclass(frozen=True)
class Notation:
    """A way to write numbers.

    Attributes:
        decimal: the decimal mark.
        thousands: the separator between groups of three digits; empty if there is none.
    """

    decimal: DecimalMark
    thousands: str

    @property
    def pattern(self) -> str:
        """A regular expression for a number, valid in RE2 and in Python."""
        decimals = f"({re.escape(self.decimal)}\\d*)?"
        if self.thousands:
            grouped = f"[1-9]\\d{{0,2}}({re.escape(self.thousands)}\\d{{3}})+"
            # People forget the separator in some cells.
            return f"^[+-]?({grouped}|\\d+){decimals}$"
        return f"^[+-]?(\\d+{decimals}|{re.escape(self.decimal)}\\d+)([eE][+-]?\\d+)?$"

    def words(self) -> str:
        """Return a description of the notation; empty for the plain one."""
        parts = ["decimal comma"] if self.decimal == "," else []
        parts += [f"thousands parted by {THOUSANDS[self.thousands]}"] if self.thousands else []
        return f"numbers written with {' and '.join(parts)}" if parts else ""

    def parse(self, written: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the numbers as float64."""
        bare = pc.replace_substring(written, self.thousands, "") if self.thousands else written
        return pc.replace_substring(bare, ",", ".").cast(pa.float64())

    def prints(self, written: pa.ChunkedArray) -> bool:
        """Whether the decimals look printed: all have one length, or none ends with a zero."""
        behind = pc.extract_regex(written, f"{re.escape(self.decimal)}(?P<decimals>\\d*)$")
        decimals = pc.fill_null(pc.struct_field(behind, "decimals"), "")
        lengths = pc.unique(
            pc.utf8_length(
                pc.drop_null(pc.if_else(pc.is_valid(written), decimals, pa.scalar(None, pa.string())))
            )
        )
        return len(lengths) <= 1 or not pc.any(pc.ends_with(decimals, "0")).as_py()


THOUSANDS = {".": "points", ",": "commas", " ": "blanks", "'": "apostrophes"}
NOTATIONS = tuple(
    Notation(decimal, thousands)
    for decimal in MARKS
    for thousands in ("", *THOUSANDS)
    if decimal != thousands
)

_PLAIN = Notation(".", "")
_DECIMAL_COMMA = Notation(",", "")
_COMMA_GROUPS = Notation(".", ",")


@dataclass(frozen=True)
class Numbers:
    """The numbers of a column.

    Attributes:
        values: float64, shape (N,); NaN where missing.
        note: what a person should know about the notation; empty if the notation is plain.
    """

    values: NDArray[np.float64]
    note: str = ""


def note_rounded(numbers: NDArray[np.float64]) -> str:
    """Return a phrase about whole numbers (N,) that are no longer distinct as float32; empty if none.

    Rounding does not matter to amounts, of which few become equal: fewer than `EQUAL_SHARE` are not told.
    """
    known = numbers[np.isfinite(numbers)]
    if (np.trunc(known) != known).any() or (np.abs(known) <= LARGEST_WHOLE).all():
        return ""
    different = len(np.unique(known))
    with np.errstate(over="ignore"):
        lost = different - len(np.unique(known.astype(np.float32)))
    if lost < EQUAL_SHARE * different or not lost:
        return ""
    kept = different - lost
    return f"has whole numbers of more digits than are kept: {different} different ones become {kept}"


def read_numbers(
    values: pa.ChunkedArray,
    *,
    decimal: DecimalMark | None = None,
    percent: bool = False,
    point_is_decimal: bool = True,
) -> Numbers:
    """Return the numbers of a column of numbers, truth values or text.

    Args:
        values: a column of a plain type.
        decimal: the decimal mark that the task states.
        percent: whether "5 %" is read as 5, because the task's unit is percent.
        point_is_decimal: whether a point before three digits in every cell is a decimal point. False for
            tables whose delimiter, or another column, shows a language that separates thousands with points.

    Raises `UnreadableValuesError` for a value that is not a finite number, or that has two readings.
    """
    kind = values.type
    if pa.types.is_string(kind):
        return _read_texts(texts(values), decimal, percent=percent, point_is_decimal=point_is_decimal)
    if not _is_number(kind):
        raise UnreadableValuesError(f"holds values of type {kind}, which are not numbers")
    numbers = _floats(values.cast(pa.int8()) if pa.types.is_boolean(kind) else values)
    share = percent and _has_fractions(numbers)
    return Numbers(numbers, "0.05 is taken for 0.05 %, though spreadsheets hold 5 % so" if share else "")


def _has_fractions(values: NDArray[np.float64]) -> bool:
    """Whether some numbers lie between 0 and 1, as fractions do."""
    return bool(((values > 0) & (values < 1)).any())


def infer_numbers(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a text column as integers or floats if printing restores every text; else unchanged.

    Text with leading zeros, or with more digits than a float preserves, stays text. Integers too large for a
    float become text. Raises `TwoReadingsError`.
    """
    if pa.types.is_integer(values.type):
        return values if _is_exact(values) else values.cast(pa.string())
    if not pa.types.is_string(values.type):
        return values
    words = without_missing(texts(values))
    if pc.all(_survives(words)).as_py() is not True:
        return values
    try:
        numbers = _read_texts(words, None, percent=False, point_is_decimal=True).values
    except TwoReadingsError:
        raise
    except UnreadableValuesError:
        return values
    plain = pc.all(pc.match_substring_regex(words, r"^[+-]?\d+$")).as_py() is True
    found = pa.chunked_array([pa.array(numbers, from_pandas=True)])
    return found.cast(pa.int64()) if plain else found


def has_decimal_commas(table: pa.Table) -> bool:
    """Whether some text column contains only numbers and proves that commas are decimal marks."""
    columns = (column for column in table.columns if pa.types.is_string(column.type))
    return any(_shows_decimal_commas(column) for column in columns)


def _shows_decimal_commas(column: pa.ChunkedArray) -> bool:
    if not pc.any(pc.match_substring(column, ",")).as_py():
        return False
    written = without_missing(texts(column))
    matches = (pc.match_substring_regex(written, one.pattern) for one in (_DECIMAL_COMMA, _COMMA_GROUPS))
    fits, groups = (pc.all(match).as_py() for match in matches)
    return fits is True and groups is False


def are_plain_numbers(words: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return which texts (N,) are numbers with a decimal point that printing restores."""
    return pc.and_(pc.match_substring_regex(words, NUMBER), _survives(words))


def _survives(words: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return whether a number would preserve each text: no leading zeros, and not too many digits.

    Decimals do not count, because their last digits are noise: programs print floats with up to 17 digits.
    """
    digits = pc.utf8_length(pc.replace_substring_regex(words, r"[.,eE].*|[^\d]", ""))
    padded = pc.match_substring_regex(words, _PADDED)
    return pc.and_(pc.invert(padded), pc.less_equal(digits, _MAX_DIGITS))


def _is_exact(values: pa.ChunkedArray) -> bool:
    ends = pc.min_max(values).as_py()
    return all(end is None or abs(end) < EXACT for end in ends.values())


def _read_texts(
    words: pa.ChunkedArray, decimal: DecimalMark | None, *, percent: bool, point_is_decimal: bool
) -> Numbers:
    written = without_missing(words)
    plain = pc.all(pc.match_substring_regex(written, NUMBER)).as_py() in (True, None)
    if (
        plain
        and decimal != ","
        and (decimal == "." or _points_are_decimal(written, certain=point_is_decimal))
    ):
        return Numbers(_floats(written))
    if _is_truth(written):
        return Numbers(truth_values(written))
    tidy = pc.replace_substring_regex(written, _SPACES, " ")
    tidy = pc.replace_substring_regex(tidy, _QUOTES, "'")
    tidy = _without_percent(tidy, percent=percent)
    notations = [notation for notation in NOTATIONS if decimal in (None, notation.decimal)]
    fitting = [one for one in notations if pc.all(pc.match_substring_regex(tidy, one.pattern)).as_py()]
    if not fitting:
        known = "|".join(f"({one.pattern})" for one in notations)
        refuse(words, pc.invert(pc.match_substring_regex(tidy, known)), _no_numbers(decimal))
        raise UnreadableValuesError(_misfits(tidy, notations))
    return _choose(tidy, fitting, decimal, point_is_decimal=point_is_decimal)


def _choose(
    written: pa.ChunkedArray,
    fitting: list[Notation],
    decimal: DecimalMark | None,
    *,
    point_is_decimal: bool,
) -> Numbers:
    """Return the numbers in the one notation that prints them so; raise if several notations do.

    If nothing speaks against decimal points, the plain notation stays even where people wrote 4.100 beside 4.
    """
    known = [_PLAIN] if point_is_decimal else []
    read = [(one, _floats(one.parse(written))) for one in fitting]
    # If only some cells have thousands separators, the column was not printed by a program.
    if len({numbers.tobytes() for _, numbers in read}) > 1 and not _has_long_numbers(written):
        read = [(one, numbers) for one, numbers in read if one in known or one.prints(written)] or read
    notation, numbers = read[0]
    for other, differently in read[1:]:
        differs = (numbers != differently) & ~(np.isnan(numbers) & np.isnan(differently))
        if differs.any():
            row = int(np.argmax(differs))
            cell = written[row].as_py()
            raise TwoReadingsError(
                f"has {cell!r}, which has two readings: {numbers[row]:.15g} or {differently[row]:.15g}? Write"
                f' decimal = "{notation.decimal}" or decimal = "{other.decimal}" to the column in the task'
            )
    return Numbers(numbers, "" if decimal else notation.words())


def _points_are_decimal(written: pa.ChunkedArray, *, certain: bool) -> bool:
    """Whether the points in a column of plain numbers can only be decimal points.

    They may separate thousands if three digits follow the point in every cell that has one; cells without a
    point make this likely. If `certain` is true, a long number without a separator shows that the column has
    no thousands separators.
    """
    sample = written.slice(0, _LOOKED_AT)
    if _shows_decimals(sample) or _shows_decimals(written):
        return True
    if certain and _has_long_numbers(written):
        return True
    pointed = pc.match_substring(written, ".")
    return not pc.any(pointed).as_py() or (certain and pc.all(pointed).as_py())


def _has_long_numbers(written: pa.ChunkedArray) -> bool:
    """Whether a cell has more than three digits before any point or comma."""
    return pc.any(pc.match_substring_regex(written, r"^[+-]?\d{4}")).as_py() is True


def _shows_decimals(written: pa.ChunkedArray) -> bool:
    """Whether some cell cannot be a number in groups of three digits."""
    groups = Notation(",", ".").pattern
    return pc.all(pc.match_substring_regex(written, groups)).as_py() is False


def _without_percent(written: pa.ChunkedArray, *, percent: bool) -> pa.ChunkedArray:
    """Return the texts without percent signs; either all cells or none must have one."""
    signs = pc.ends_with(written, "%")
    if not pc.any(signs).as_py():
        return written
    bare = pc.replace_substring_regex(written, r"\s*%$", "")
    if not pc.all(signs).as_py():
        refuse(written, pc.invert(signs), "without the percent sign that others have: write it everywhere")
    if not percent:
        cell = pc.drop_null(written)[0].as_py()
        number = cell.rstrip("%").strip()
        raise TwoReadingsError(
            f'has {cell!r}, which has two readings: {number}, or a hundredth of that? Write unit = "%" to the'
            f" column in the task for {number}, or leave out the sign"
        )
    return bare


def _misfits(written: pa.ChunkedArray, notations: list[Notation]) -> str:
    """Describe the mix of notations in a column whose cells are all numbers in some notation."""
    present = pc.drop_null(written)
    cells = []
    for notation in notations:
        fits = pc.match_substring_regex(present, notation.pattern)
        misfits = pc.filter(present, pc.invert(fits))
        cells += [misfits[0].as_py()] if len(misfits) else []
    shown = list(dict.fromkeys(map(repr, cells)))[:2]
    return f"has {' and '.join(shown)}, which no one way to write numbers explains: write all in one way"


def _no_numbers(decimal: DecimalMark | None) -> str:
    return "no numbers" if decimal is None else f"no numbers with the decimal mark '{decimal}' of the task"


def _is_truth(written: pa.ChunkedArray) -> bool:
    small = pc.utf8_lower(written)
    return pc.all(pc.is_in(small, pa.array(TRUTH, pa.string()))).as_py() is True


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return bool(numeric or types.is_boolean(kind) or types.is_null(kind))


def _floats(values: pa.ChunkedArray) -> NDArray[np.float64]:
    found: NDArray[np.float64] = values.cast(pa.float64(), safe=False).to_numpy()
    # A number too large for the float32 of a code is refused as not finite.
    with np.errstate(over="ignore"):
        infinite = np.isinf(found.astype(np.float32))
    if infinite.any():
        row = int(np.argmax(infinite))
        raise UnreadableValuesError(
            "no finite number", shown=repr(values[row].as_py()), rows=int(infinite.sum()), first=row
        )
    return found
