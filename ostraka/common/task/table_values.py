"""Values of a table's column as numbers, one a record, NaN where a value is missing."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ostraka.common.datasets.label_columns import MISSING
from ostraka.common.task.columns import Codes

YES = ("true", "yes", "y", "t", "1", "1.0")
NO = ("false", "no", "n", "f", "0", "0.0")
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
DAY = r"^\d{4}-\d{2}-\d{2}([T ].*)?$"
DAY_LENGTH = 10
"""Characters of a day, behind which its time is cut off."""
DAY_FORMAT = "%Y-%m-%d"
SHOWN = 3
"""Values that a refusal shows."""


class UnreadableValuesError(Exception):
    """Values of a column are none of its kind; the message says which, without the column's name."""


def numbers(values: pa.ChunkedArray) -> Codes:
    """Return numbers as float32 (N,): of integers, floats, decimals, truth values and text."""
    values = _plain(values)
    kind = values.type
    if _is_text(kind):
        trimmed = _without_missing(pc.utf8_trim_whitespace(values))
        _refuse(values, pc.invert(pc.match_substring_regex(trimmed, NUMBER)), "no numbers")
        values = trimmed
    elif not _is_number(kind):
        raise UnreadableValuesError(f"holds values of type {kind}, which are no numbers")
    # Numbers too large for float32 become infinite, and are refused below.
    with np.errstate(over="ignore"):
        found: Codes = values.cast(pa.float64(), safe=False).to_numpy().astype(np.float32)
    if np.isinf(found).any():
        raise UnreadableValuesError(f"has no finite number in row {int(np.argmax(np.isinf(found)))}")
    return found


def truth_values(values: pa.ChunkedArray) -> Codes:
    """Return 0 and 1 as float32 (N,): of truth values, 0 and 1, and words for yes and no."""
    written = texts(values)
    words = pc.utf8_lower(written)
    missing = is_missing(written)
    yes, no = (pc.is_in(words, pa.array(known, pa.string())) for known in (YES, NO))
    wrong = pc.invert(pc.or_(missing, pc.or_(yes, no)))
    _refuse(words, wrong, f"neither yes nor no: write one of {', '.join((*YES, *NO))}")
    return np.where(_numpy(missing), np.nan, _numpy(yes)).astype(np.float32)


def places(values: pa.ChunkedArray, known: Sequence[str], *, other: bool) -> Codes:
    """Return each value's place among the `known` ones as float32 (N,), that behind the last for others."""
    words = texts(values)
    found = pc.index_in(words, pa.array(known, pa.string()))
    unknown = pc.is_null(found)
    missing = pc.and_(unknown, is_missing(words))
    if not other:
        _refuse(words, pc.and_(unknown, pc.invert(missing)), f"none of {', '.join(known)}")
    codes = pc.fill_null(found, len(known)).to_numpy().astype(np.float32)
    return np.where(_numpy(missing), np.float32(np.nan), codes)


def days(values: pa.ChunkedArray, format: str | None) -> NDArray[np.float64]:
    """Return days since 1970-01-01 as float64 (N,): of dates, times and text in this format of strptime."""
    values = _plain(values)
    if pa.types.is_date(values.type) or pa.types.is_timestamp(values.type):
        found = values.cast(pa.timestamp("s"), safe=False)
    elif _is_text(values.type) or pa.types.is_null(values.type):
        found = _parse(values.cast(pa.string()), format)
    else:
        raise UnreadableValuesError(f"holds values of type {values.type}, which are no dates")
    seconds = pc.floor(pc.divide(found.cast(pa.int64()).cast(pa.float64()), 86_400.0))
    return seconds.to_numpy()  # type: ignore[no-any-return]


def texts(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values as trimmed text, whole numbers without a decimal point."""
    values = _plain(values)
    if pa.types.is_floating(values.type):
        whole = pc.all(pc.equal(pc.trunc(values), values)).as_py()
        values = values.cast(pa.int64()) if whole in (True, None) else values
    return pc.utf8_trim_whitespace(values.cast(pa.string()))


def is_missing(words: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return which texts (N,) stand for a missing value."""
    return pc.or_(pc.is_null(words), pc.is_in(words, pa.array(MISSING, pa.string())))


def _parse(values: pa.ChunkedArray, format: str | None) -> pa.ChunkedArray:
    trimmed = _without_missing(pc.utf8_trim_whitespace(values))
    day = trimmed
    if format is None:
        _refuse(trimmed, pc.invert(pc.match_substring_regex(trimmed, DAY)), "no dates such as 2026-12-31")
        day = pc.utf8_slice_codeunits(trimmed, 0, DAY_LENGTH)
    form = format or DAY_FORMAT
    found = pc.strptime(day, format=form, unit="s", error_is_null=True)
    _refuse(trimmed, pc.and_(pc.is_null(found), pc.is_valid(trimmed)), f"no dates of the form {form}")
    return found


def _refuse(values: pa.ChunkedArray, wrong: pa.ChunkedArray, what: str) -> None:
    """Raise `UnreadableValuesError` where any value is wrong; a null is not."""
    rows = np.flatnonzero(_numpy(pc.fill_null(wrong, False)))
    if len(rows):
        shown = list(dict.fromkeys(repr(values[int(row)].as_py()) for row in rows[: 10 * SHOWN]))[:SHOWN]
        raise UnreadableValuesError(
            f"has {', '.join(shown)} in {len(rows)} row{'s' * (len(rows) > 1)} from row {rows[0]} on, {what}"
        )


def _plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values of a dictionary type as the values themselves."""
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def _without_missing(words: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.if_else(is_missing(words), pa.scalar(None, pa.string()), words)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return bool(numeric or types.is_boolean(kind) or types.is_null(kind))


def _numpy(values: Any) -> NDArray[np.bool_]:
    found: NDArray[np.bool_]
    found = values.to_numpy(zero_copy_only=False) if isinstance(values, pa.Array) else values.to_numpy()
    return found
