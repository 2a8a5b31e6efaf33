"""A number that is learned instead of classes: its public range, and its notation."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import SerializerFunctionWrapHandler, model_serializer, model_validator

from ostraka.common.datasets.number_format import NumberFormat
from ostraka.common.task.columns import Name, Number
from ostraka.common.validation import FrozenModel


class NumberTarget(FrozenModel):
    """A number per record, from `min` to `max`, both included.

    Attributes:
        kind: "number".
        min: the smallest number.
        max: the largest number, above `min`.
        unit: the unit of measurement, for people; if it is "%", text may contain percent signs.
        decimal: the decimal mark of text that would otherwise have two readings, such as 1,234.
        clip: whether a number beyond the range counts as its nearest end instead of being refused.
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
        """The notation of the number in text."""
        return NumberFormat(self.decimal, percent=self.unit == "%")

    def words(self) -> str:
        """Return the range as people write it."""
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.min:g} to {self.max:g}{unit}"
