"""How the numbers of a column are written, where somebody says it."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

DecimalMark: TypeAlias = Literal[".", ","]


@dataclass(frozen=True)
class NumberFormat:
    """What tells two readings of a number apart.

    Attributes:
        decimal: the decimal mark of text; None: whatever the column shows.
        percent: whether "5 %" is 5.
    """

    decimal: DecimalMark | None = None
    percent: bool = False
