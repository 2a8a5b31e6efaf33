"""Input of a task: named columns, or a numeric array of one shape."""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from ostraka.common.frozen_model import FrozenModel

Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Number = Annotated[float, Field(ge=-1e38, le=1e38, allow_inf_nan=False)]
Dtype = Literal["float32", "int32", "uint8"]
Preprocessing = Literal["none", "range"]
MOST_VALUES = 10_000_000
"""Of one record."""


class Column(FrozenModel):
    """One feature of a table: its name, what its values are, and their public range, both ends included."""

    name: Name
    dtype: Dtype = "float32"
    min: Number
    max: Number

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min > self.max:
            raise ValueError(f"column '{self.name}' ranges from {self.min:g} to {self.max:g}: swap them")
        return self


class TableInput(FrozenModel):
    """Records as ordered, named columns."""

    kind: Literal["table"] = "table"
    preprocessing: Preprocessing = "none"
    columns: Annotated[tuple[Column, ...], Field(min_length=1, max_length=100_000)]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        repeated = twice(self.names)
        if repeated is not None:
            raise ValueError(f"column '{repeated}' is named twice")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Feature names in order."""
        return tuple(column.name for column in self.columns)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one record."""
        return (len(self.columns),)

    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Least and largest value by column, each of shape (F,)."""
        return np.array([c.min for c in self.columns]), np.array([c.max for c in self.columns])

    def whole(self) -> NDArray[np.bool_]:
        """Which columns hold whole numbers only, shape (F,)."""
        return np.array([c.dtype != "float32" for c in self.columns])


class TensorInput(FrozenModel):
    """Records as numeric arrays of one shape, such as images, with one range for all values."""

    kind: Literal["tensor"] = "tensor"
    preprocessing: Preprocessing = "none"
    shape: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1, max_length=8)]
    dtype: Dtype = "float32"
    range: tuple[Number, Number]

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if math.prod(self.shape) > MOST_VALUES:
            raise ValueError(f"a record has {math.prod(self.shape)} values, and at most {MOST_VALUES} may be")
        if self.range[0] > self.range[1]:
            raise ValueError(f"the range goes from {self.range[0]:g} to {self.range[1]:g}: swap them")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the flattened values, x0, x1, ..."""
        return tuple(f"x{index}" for index in range(math.prod(self.shape)))

    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the range repeated for every value, each end of shape (F,)."""
        features = math.prod(self.shape)
        return np.full(features, self.range[0]), np.full(features, self.range[1])

    def whole(self) -> NDArray[np.bool_]:
        """Which values are whole numbers only, shape (F,)."""
        return np.full(math.prod(self.shape), self.dtype != "float32")


def twice(names: Iterable[str]) -> str | None:
    """Return the first name that occurs more than once, or None."""
    return next((name for name, times in Counter(names).items() if times > 1), None)
