"""The notation that a task states for a column's numbers."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

DecimalMark: TypeAlias = Literal[".", ","]


@dataclass(frozen=True)
class NumberFormat:
    """The notation that decides between two readings of a number.

    Attributes:
        decimal: the decimal mark of text; None: the mark that the column shows.
        percent: whether "5 %" is read as 5.
    """

    decimal: DecimalMark | None = None
    percent: bool = False
