"""Columns as words: the text of any value, words for missing values, for yes and no, and known words."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ostraka.common.console.texts import list_words
from ostraka.common.datasets.label_columns import FLOAT, MISSING, TRUTH, WHOLE_AS_FLOAT, find_thousands
from ostraka.common.datasets.unreadable import TwoReadingsError, UnreadableValuesError, as_numpy, refuse

FAMILIES = (
    (("true", "t"), ("false", "f")),
    (("yes", "y"), ("no", "n")),
    (("1", "1.0", "1,0", "1.00", "1,00"), ("0", "0.0", "0,0", "0.00", "0,00")),
    (("wahr",), ("falsch",)),
    (("ja", "j"), ("nein", "n")),
    (("oui",), ("non",)),
)
"""Words for yes and for no, in lower case, that belong to one column: y, n and f alone do not show truth.

The decimals stand where missing values turned a column of 0 and 1 into floats.
"""
TRUTH_WORDS = frozenset(word for sides in FAMILIES for side in sides for word in side)
"""All words of FAMILIES."""
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
"""A number as programs write it."""
_MISSING = pa.array(MISSING, pa.string())
_UNSEEN = re.compile(r"[\s\u200b-\u200f\u2060\ufeff]+")
"""Blanks and characters of zero width."""
_ZEROS = re.compile(r"^0+(?=\d)")
_NOTHING = pa.scalar(None, pa.string())
EXACT = 2**53
"""Whole numbers of this size or more lose digits as floats."""


def texts(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values as trimmed, composed text (NFC): whole floats without a point, days as 2026-12-31.

    Raises `UnreadableValuesError` for values without a unique text: lists, bytes, durations, and whole
    numbers that floats cannot represent exactly.
    """
    kind = values.type
    types = pa.types
    if types.is_string(kind):
        trimmed = pc.utf8_trim_whitespace(values)
        ascii_alone = pc.all(pc.string_is_ascii(trimmed)).as_py()
        return trimmed if ascii_alone in (True, None) else pc.utf8_normalize(trimmed, form="NFC")
    if types.is_floating(kind):
        return _float_texts(values)
    if types.is_timestamp(kind):
        return _time_texts(values)
    if types.is_integer(kind) or types.is_boolean(kind) or types.is_decimal(kind) or types.is_date(kind):
        return values.cast(pa.string())
    if types.is_null(kind):
        return values.cast(pa.string())
    raise UnreadableValuesError(f"holds values of type {kind}, which are not words")


def _float_texts(values: pa.ChunkedArray) -> pa.ChunkedArray:
    # Not as float64, where the 1.1 of a float32 has more digits.
    kept = values.cast(pa.float32()) if pa.types.is_float16(values.type) else values
    known = pc.if_else(pc.is_nan(kept), pa.scalar(None, kept.type), kept)
    inexact = pc.and_(pc.greater_equal(pc.abs(known).cast(pa.float64()), float(EXACT)), pc.is_finite(known))
    refuse(
        values,
        inexact,
        "whole numbers of more than 15 digits that were stored as floats, which lose the last digits: write"
        " them as text",
    )
    whole = pc.all(pc.equal(pc.trunc(known), known)).as_py()
    return known.cast(pa.int64() if whole in (True, None) else known.type).cast(pa.string())


def _time_texts(values: pa.ChunkedArray) -> pa.ChunkedArray:
    local = pc.local_timestamp(values) if values.type.tz is not None else values
    midnight = pc.all(pc.equal(pc.floor_temporal(local, unit="day"), local)).as_py()
    return local.cast(pa.date32() if midnight in (True, None) else local.type).cast(pa.string())


def find_alike(words: Iterable[str]) -> Iterator[str]:
    """Yield groups of words that differ only by case, blanks, leading zeros, and characters of zero width."""
    alike = defaultdict(list)
    for word in words:
        plain = word if word.isascii() else _UNSEEN.sub(" ", unicodedata.normalize("NFKC", word))
        alike[_ZEROS.sub("", " ".join(plain.casefold().split()))].append(word)
    yield from (list_words(list(map(repr, same))) for same in alike.values() if len(same) > 1)


def is_missing(words: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return which texts (N,) mean a missing value."""
    return pc.or_(pc.is_null(words), pc.is_in(words, _MISSING))


def without_missing(words: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the texts, with null where they mean a missing value."""
    return pc.if_else(is_missing(words), _NOTHING, words)


def truth_values(values: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return 1 for yes, 0 for no and NaN for missing (N,); raise `UnreadableValuesError` for other words."""
    words = pc.utf8_lower(texts(values))
    missing = is_missing(words)
    present = pc.unique(pc.filter(words, pc.invert(missing))).to_pylist()
    family = truth_family(present)
    if family is None:
        pairs = ", ".join(f"{yes[0]} and {no[0]}" for yes, no in FAMILIES)
        known = pa.array(sorted(TRUTH_WORDS), pa.string())
        wrong = pc.invert(pc.or_(missing, pc.is_in(words, known)))
        refuse(words, wrong, f"neither yes nor no: write one of {pairs}")
        raise UnreadableValuesError(
            f"has {', '.join(map(repr, sorted(present)))}, which are no one way to say yes and no: write"
            f" one of {pairs} in all records"
        )
    return np.where(as_numpy(missing), np.nan, as_numpy(pc.is_in(words, pa.array(family[0], pa.string()))))


def truth_family(words: Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the words for yes and for no of the family with all these lower-case words; None if they mix."""
    return next((family for family in FAMILIES if {*words} <= {*family[0], *family[1]}), None)


def places(values: pa.ChunkedArray, known: Sequence[str], *, other: bool) -> NDArray[np.float64]:
    """Return each value's index in `known` (N,), NaN if missing.

    With `other`, an unknown value gets the index after the last; without it, `UnreadableValuesError` is
    raised.
    """
    words = texts(values)
    found = find_words(words, known)
    unknown = pc.is_null(found)
    missing = pc.and_(unknown, is_missing(words))
    if not other:
        refuse(words, pc.and_(unknown, pc.invert(missing)), f"none of {', '.join(known)}")
    codes = pc.fill_null(found, len(known)).to_numpy().astype(np.float64)
    return np.where(as_numpy(missing), np.nan, codes)


def find_words(words: pa.ChunkedArray, known: Sequence[str]) -> pa.ChunkedArray:
    """Return each word's index in `known` (N,), null if it is not there.

    A column of only numbers is also matched without ".0", because missing values may have turned it into
    floats. A column of only true and false is also matched in any case, because programs write these in three
    ways. Raises `TwoReadingsError` for a word that is a known number with decimals, and another in thousands.
    """
    found = pc.index_in(words, pa.array(known, pa.string()))
    unknown = pc.drop_null(
        pc.if_else(pc.is_valid(found), pa.scalar(None, pa.string()), without_missing(words))
    )
    if not len(unknown):
        return found
    _refuse_thousands(words, known)
    for told in (_without_zeros, _in_small_letters):
        same = told(words)
        known_so = None if same is None else told(pa.chunked_array([known], pa.string()))
        if known_so is not None and len(known_so.unique()) == len(known):
            found = pc.coalesce(found, pc.index_in(same, pa.array(known_so.to_pylist(), pa.string())))
    return found


def _refuse_thousands(words: pa.ChunkedArray, known: Sequence[str]) -> None:
    readings = find_thousands(known)
    rows = np.flatnonzero(as_numpy(pc.is_in(words, pa.array(readings.keys(), pa.string()))))
    if len(rows):
        word = words[int(rows[0])].as_py()
        raise TwoReadingsError(
            f"which has two readings: {readings[word]}? Write it as the task's value is written",
            shown=repr(word),
            rows=len(rows),
            first=int(rows[0]),
        )


def _without_zeros(words: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return numbers without a trailing ".0"; None if some word is not a number."""
    present = without_missing(words)
    if pc.all(pc.match_substring_regex(present, FLOAT)).as_py() is not True:
        return None
    return pc.replace_substring_regex(words, WHOLE_AS_FLOAT, r"\1")


def _in_small_letters(words: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return truth values in lower case; None if some word is not a truth value."""
    small = pc.utf8_lower(words)
    truth = pc.is_in(pc.drop_null(without_missing(small)), pa.array(TRUTH, pa.string()))
    return small if pc.all(truth).as_py() is True else None
