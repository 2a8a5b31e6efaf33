"""A number that records are asked for, in place of classes: its public range, and how it is written."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import SerializerFunctionWrapHandler, model_serializer, model_validator

from ostraka.common.datasets.number_format import NumberFormat
from ostraka.common.task.columns import Name, Number
from ostraka.common.validation import FrozenModel


class NumberTarget(FrozenModel):
    """A number a record, from `min` to `max`, both included.

    Attributes:
        kind: "number".
        min: the least number.
        max: the largest one, above `min`.
        unit: what it is measured in, for people; of "%", text may have percent signs.
        decimal: the decimal mark of text that would have two readings without: 1,234.
        clip: whether numbers beyond the range count as its nearer end, instead of being refused.
    """

    kind: Literal["number"]
    min: Number
    max: Number
    unit: Name | None = None
    decimal: Literal[".", ","] | None = None
    clip: bool = False

    @model_validator(mode="after")
    def _require_order(self) -> Self:
        if self.min >= self.max:
            raise ValueError(f"the target ranges from {self.min:g} to {self.max:g}: give max above min")
        return self

    @model_serializer(mode="wrap")
    def _drop_unstated(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = serialize(self)
        return {key: value for key, value in fields.items() if value is not None and value is not False}

    @property
    def format(self) -> NumberFormat:
        """How text writes it."""
        return NumberFormat(self.decimal, percent=self.unit == "%")

    def words(self) -> str:
        """Return the range as people write it."""
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.min:g} to {self.max:g}{unit}"
