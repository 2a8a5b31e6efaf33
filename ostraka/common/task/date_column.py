"""Columns of days."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from pydantic import model_validator

from ostraka.common.task.named_column import INDICATOR, Codes, Name, NamedColumn

if TYPE_CHECKING:
    import pyarrow as pa

EPOCH = datetime.date(1970, 1, 1)


class DateColumn(NamedColumn):
    """A day, which becomes the number of days since the first one allowed.

    Attributes:
        kind: "date".
        name: the column's name.
        min: the first day allowed.
        max: the last day allowed.
        format: how text says a day, as strptime has it ("%d.%m.%Y"); none: 2026-12-31, a time after it is
            cut off.
        clip: whether days beyond the range count as its nearer end, instead of being refused.
        missing: what a missing day counts as: a day of the range, or "indicator".
    """

    kind: Literal["date"] = "date"
    min: datetime.date
    max: datetime.date
    format: Name | None = None
    clip: bool = False
    missing: datetime.date | Literal["indicator"] | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min > self.max:
            raise ValueError(f"column '{self.name}' ranges from {self.min} to {self.max}: swap them")
        if isinstance(self.missing, datetime.date) and not self.min <= self.missing <= self.max:
            raise ValueError(f"column '{self.name}' has missing = {self.missing}: name a day in its range")
        return self

    def read(self, values: pa.ChunkedArray) -> Codes:
        """Return the days since the first one allowed."""
        from ostraka.common.task import table_values

        first = (self.min - EPOCH).days
        return (table_values.days(values, self.format) - first).astype(np.float32)

    @property
    def codes(self) -> tuple[float, float]:
        """Days since the first one allowed."""
        return 0.0, float((self.max - self.min).days)

    def shown(self, code: float) -> str:
        """Return the day, as 2026-12-31; a number of days where no calendar has it."""
        try:
            return str(self.min + datetime.timedelta(days=int(code)))
        except OverflowError:
            return f"{code:g} days after {self.min}"

    @property
    def clips(self) -> bool:
        """Whether days beyond the range count as its nearer end."""
        return self.clip

    @property
    def missing_code(self) -> float | None:
        """The days to the one that a missing day counts as."""
        return float((self.missing - self.min).days) if isinstance(self.missing, datetime.date) else None

    @property
    def indicates(self) -> bool:
        """Whether a feature says that the day is missing."""
        return self.missing == INDICATOR
