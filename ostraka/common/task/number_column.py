"""Columns of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from ostraka.common.task.named_column import INDICATOR, Codes, Name, NamedColumn

if TYPE_CHECKING:
    import pyarrow as pa

Number = Annotated[float, Field(ge=-1e38, le=1e38, allow_inf_nan=False)]
Dtype = Literal["float32", "int32", "uint8"]


class NumberColumn(NamedColumn):
    """A number: its public range, both ends included.

    Attributes:
        kind: "number".
        name: the column's name.
        dtype: "float32", or "int32" and "uint8" for whole numbers.
        min: the least value.
        max: the largest value.
        unit: what it is measured in, for people: sites that agree on a task agree on it.
        clip: whether values beyond the range count as its nearer end, instead of being refused.
        missing: what a missing value counts as: a number of the range, or "indicator".
    """

    kind: Literal["number"] = "number"
    dtype: Dtype = "float32"
    min: Number
    max: Number
    unit: Name | None = None
    clip: bool = False
    missing: Number | Literal["indicator"] | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min > self.max:
            raise ValueError(f"column '{self.name}' ranges from {self.min:g} to {self.max:g}: swap them")
        if isinstance(self.missing, float) and not self.min <= self.missing <= self.max:
            raise ValueError(
                f"column '{self.name}' has missing = {self.missing:g}: name a value in its range"
            )
        return self

    def read(self, values: pa.ChunkedArray) -> Codes:
        """Return the numbers."""
        from ostraka.common.task import table_values

        return table_values.numbers(values)

    @property
    def codes(self) -> tuple[float, float]:
        """The range."""
        return self.min, self.max

    @property
    def whole(self) -> bool:
        """Whether values are whole numbers."""
        return self.dtype != "float32"

    @property
    def clips(self) -> bool:
        """Whether values beyond the range count as its nearer end."""
        return self.clip

    @property
    def missing_code(self) -> float | None:
        """The number that a missing value counts as."""
        return self.missing if isinstance(self.missing, float) else None

    @property
    def indicates(self) -> bool:
        """Whether a feature says that the number is missing."""
        return self.missing == INDICATOR
