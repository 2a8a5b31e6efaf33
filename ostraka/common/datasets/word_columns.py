"""Columns as words: the text of any value, words for nothing, for yes and no, and words that are known."""

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
from ostraka.common.datasets.label_columns import FLOAT, MISSING, TRUTH, WHOLE_AS_FLOAT
from ostraka.common.datasets.unreadable import UnreadableValuesError, as_numpy, refuse

FAMILIES = (
    (("true", "t"), ("false", "f")),
    (("yes", "y"), ("no", "n")),
    (("1", "1.0", "1,0"), ("0", "0.0", "0,0")),
    (("wahr",), ("falsch",)),
    (("ja", "j"), ("nein", "n")),
    (("oui",), ("non",)),
)
"""Words for yes and for no, in small letters, that stand in one column: y, n and f say no truth.

With a decimal where gaps made floats of a column of 0 and 1.
"""
TRUTH_WORDS = frozenset(word for sides in FAMILIES for side in sides for word in side)
"""All of them."""
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
"""A number as programs write it."""
_MISSING = pa.array(MISSING, pa.string())
_UNSEEN = re.compile(r"[\s\u200b-\u200f\u2060\ufeff]+")
"""Blanks, and characters of no width."""
_ZEROS = re.compile(r"^0+(?=\d)")
_NOTHING = pa.scalar(None, pa.string())
EXACT = 2**53
"""Whole numbers of this size and more lose digits as floats."""


def texts(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values as text, trimmed and composed (NFC): whole floats without a point, days as 2026-12-31.

    Raises `UnreadableValuesError` for values that have no one text: lists, bytes, durations, and whole
    numbers that floats hold inexactly.
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
    # Not as float64, in which the 1.1 of a float32 has more digits.
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
    """Name words that differ by case, blanks, zeros before a number, and characters of no width alone."""
    alike = defaultdict(list)
    for word in words:
        plain = word if word.isascii() else _UNSEEN.sub(" ", unicodedata.normalize("NFKC", word))
        alike[_ZEROS.sub("", " ".join(plain.casefold().split()))].append(word)
    yield from (list_words(list(map(repr, same))) for same in alike.values() if len(same) > 1)


def is_missing(words: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return which texts (N,) stand for a missing value."""
    return pc.or_(pc.is_null(words), pc.is_in(words, _MISSING))


def without_missing(words: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the texts, null where they stand for a missing value."""
    return pc.if_else(is_missing(words), _NOTHING, words)


def truth_values(values: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return 0, 1, and NaN where missing (N,), of words for yes and no; raise `UnreadableValuesError`."""
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
    """Return the words for yes and for no of which all these are, in small letters; None where they mix."""
    return next((family for family in FAMILIES if {*words} <= {*family[0], *family[1]}), None)


def places(values: pa.ChunkedArray, known: Sequence[str], *, other: bool) -> NDArray[np.float64]:
    """Return each value's place among the `known` ones (N,), that behind the last for others, NaN if missing.

    Raises `UnreadableValuesError` for a value that is none of them, unless `other` ones are taken.
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
    """Return each word's place among the `known` ones (N,), null where it is none of them.

    A column of numbers alone, which a gap may have made floats, is matched without ".0"; one of true and
    false alone, which programs write in three ways, whatever the case.
    """
    found = pc.index_in(words, pa.array(known, pa.string()))
    unknown = pc.drop_null(
        pc.if_else(pc.is_valid(found), pa.scalar(None, pa.string()), without_missing(words))
    )
    if not len(unknown):
        return found
    for told in (_without_zeros, _in_small_letters):
        same = told(words)
        known_so = None if same is None else told(pa.chunked_array([known], pa.string()))
        if known_so is not None and len(known_so.unique()) == len(known):
            found = pc.coalesce(found, pc.index_in(same, pa.array(known_so.to_pylist(), pa.string())))
    return found


def _without_zeros(words: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return numbers without ".0" behind them; None where a word is not a number."""
    present = without_missing(words)
    if pc.all(pc.match_substring_regex(present, FLOAT)).as_py() is not True:
        return None
    return pc.replace_substring_regex(words, WHOLE_AS_FLOAT, r"\1")


def _in_small_letters(words: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return truth values in small letters; None where a word is none."""
    small = pc.utf8_lower(words)
    truth = pc.is_in(pc.drop_null(without_missing(small)), pa.array(TRUTH, pa.string()))
    return small if pc.all(truth).as_py() is True else None
