"""Consent levels of records: the level that each record's person agreed to, as a word."""

import re
from typing import Annotated, Any

from numpy.typing import NDArray
from pydantic import Field

from ostraka.common.datasets.reading import Origin, place
from ostraka.common.errors import ErrorCode, OstrakaError

COLUMN = "consent"
"""Name of the table column, and of the .npz array, that contains the levels."""
LEVEL = r"[a-z0-9][a-z0-9-]{0,31}"
Level = Annotated[str, Field(pattern=f"^{LEVEL}$")]
"""The name of a level."""


def consent_levels(values: NDArray[Any], records: int, source: Origin | str) -> tuple[str, ...]:
    """Return the level of each record, from an array (N,) of words or whole numbers.

    Raises `data.shape` if the number of levels is not `records`, `data.missing` naming the first record
    without a level, and `data.unreadable` for an invalid level name.
    """
    if values.shape != (records,):
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"{source} has consent of shape {values.shape} for {records} records: give one level per record.",
        )
    if values.dtype.kind not in "USiu":
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE,
            f"{source} has consent of type {values.dtype}: give the levels' names, such as low and high.",
        )
    levels: tuple[str, ...] = tuple(values.astype(str).tolist())
    for row, level in enumerate(levels):
        if not re.fullmatch(LEVEL, level):
            raise _no_level(level, row, source)
    return levels


def _no_level(level: str, row: int, source: Origin | str) -> OstrakaError:
    if not level.strip():
        return OstrakaError(
            ErrorCode.DATA_MISSING,
            f"{source} has no consent in {place(source, row)}: a record without consent must not be used;"
            " give its level or drop the row.",
            row=str(row),
        )
    return OstrakaError(
        ErrorCode.DATA_UNREADABLE,
        f"{source} has consent {level!r} in {place(source, row)}: name levels with at most 32 small"
        " letters, digits and hyphens.",
        row=str(row),
    )
