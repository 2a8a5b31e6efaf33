"""Refusals of a column's values; the caller adds the column and the file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ostraka.common.datasets.reading import Origin

SHOWN = 3
"""Number of values that a refusal shows: enough to see what they have in common."""
_LOOKED_AT = 10 * SHOWN
"""Number of wrong values that are searched for distinct ones."""


class UnreadableValuesError(Exception):
    """Values do not fit a column's kind, or have two readings; the message leaves the column's name out."""

    two_readings = False

    def __init__(self, what: str, *, shown: str = "", rows: int = 0, first: int = 0) -> None:
        self._what = what
        self._shown = shown
        self._rows = rows
        self._first = first
        super().__init__(self.tell(Origin("the table")))

    def tell(self, origin: Origin) -> str:
        """Return the refusal as the end of a sentence about the column, with rows as `origin` counts them."""
        if not self._rows:
            return self._what
        several = "s" * (self._rows > 1)
        where = f"{self._rows} row{several} from {origin.place(self._first)} on"
        return f"has {self._shown} in {where}, {self._what}"


class TwoReadingsError(UnreadableValuesError):
    """Values of a column can be read in two ways."""

    two_readings = True


def refuse(values: pa.ChunkedArray, wrong: pa.ChunkedArray, what: str) -> None:
    """Raise `UnreadableValuesError` if any entry of `wrong` is true; null counts as false."""
    rows = np.flatnonzero(as_numpy(pc.fill_null(wrong, False)))
    if len(rows):
        shown = list(dict.fromkeys(repr(values[int(row)].as_py()) for row in rows[:_LOOKED_AT]))[:SHOWN]
        raise UnreadableValuesError(what, shown=", ".join(shown), rows=len(rows), first=int(rows[0]))


def as_numpy(values: Any) -> NDArray[np.bool_]:
    """Return Arrow truth values without nulls as an array (N,)."""
    found: NDArray[np.bool_]
    found = values.to_numpy(zero_copy_only=False) if isinstance(values, pa.Array) else values.to_numpy()
    return found
