"""Input of a task: named columns, or a numeric array of a fixed shape."""

import math
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from ostraka.common.task.columns import Codes, Column, Dtype, NamedColumn, Number
from ostraka.common.validation import FrozenModel

Preprocessing = Literal["none", "range"]
MAX_VALUES = 10_000_000
"""Maximum number of values in one record."""
MAX_FEATURES = 1_000_000
"""Maximum number of features of a table; each has a name."""


class TableInput(FrozenModel):
    """Records as ordered, named columns."""

    kind: Literal["table"] = "table"
    preprocessing: Preprocessing = "none"
    columns: Annotated[tuple[Column, ...], Field(min_length=1, max_length=100_000)]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        repeated = twice(self.names) or twice(self.sources)
        if repeated is not None:
            raise ValueError(f"column '{repeated}' is named twice")
        many = sum(len(column.categories) + 2 for column in self.parts)
        if many > MAX_FEATURES:
            raise ValueError(f"the columns make up to {many} features, and at most {MAX_FEATURES} may be")
        repeated = twice(self.features)
        if repeated is not None:
            raise ValueError(f"two columns make a feature '{repeated}': rename one of them")
        return self

    @cached_property
    def parts(self) -> tuple[NamedColumn, ...]:
        """The stored parts of a record, one code each: each column, or the features of a text column."""
        return tuple(part for column in self.columns for part in column.parts)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the parts in order."""
        return tuple(part.name for part in self.parts)

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of a table's columns in order."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Names of the features for models: one or more per column."""
        return tuple(name for column in self.parts for name in column.features)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one record as models take it."""
        return (len(self.features),)

    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the smallest and the largest code of each column, each of shape (C,)."""
        codes = np.array([column.codes for column in self.parts], dtype=np.float64)
        return codes[:, 0], codes[:, 1]

    def whole(self) -> NDArray[np.bool_]:
        """Return which columns have only whole numbers as codes, shape (C,)."""
        return np.array([column.whole for column in self.parts])

    def text_of(self, column: int, code: float) -> str:
        """Return a code's value in a column as people write it."""
        return self.parts[column].text_of(code)

    def takes_missing(self) -> NDArray[np.bool_]:
        """Return which columns accept missing values, shape (C,)."""
        return np.array([column.takes_missing for column in self.parts])

    def clip(self, codes: Codes) -> Codes:
        """Return the codes (N, C); in columns that clip, codes beyond the range become its nearest end."""
        clips = np.array([column.clips for column in self.parts])
        if not clips.any():
            return codes
        low, high = (bound.astype(np.float32) for bound in self.bounds())
        return np.where(clips, np.clip(codes, low, high), codes)

    def encode(self, codes: Codes) -> Codes:
        """Return the features (N, F) of codes (N, C), with NaN for a missing value where that is allowed."""
        filled = self._fill(codes)
        scaled = scale(filled, *self.bounds()) if self.preprocessing == "range" else filled
        if len(self.features) == len(self.parts) and not self._encoded:
            return scaled
        features = np.empty((len(codes), len(self.features)), np.float32)
        first = np.cumsum([0] + [len(column.features) for column in self.parts])
        as_they_are = [i for i in range(len(self.parts)) if i not in self._encoded]
        features[:, first[as_they_are]] = scaled[:, as_they_are]
        for index, column in self._encoded.items():
            features[:, first[index] : first[index + 1]] = column.encode(filled[:, index], scaled[:, index])
        return features

    @cached_property
    def _encoded(self) -> dict[int, NamedColumn]:
        """The columns whose features are not just their scaled code, by index."""
        return {i: c for i, c in enumerate(self.parts) if c.categories or c.indicates}

    def _fill(self, codes: Codes) -> Codes:
        """Return the codes with missing values replaced in columns that have a constant for them."""
        constants = [c.missing_code for c in self.parts]
        if not np.isnan(codes).any():
            return codes
        filling = np.array([np.nan if code is None else code for code in constants], np.float32)
        return np.where(np.isnan(codes), filling, codes)


class TensorInput(FrozenModel):
    """Records as numeric arrays of one shape, such as images, with one range for all values."""

    kind: Literal["tensor"] = "tensor"
    preprocessing: Preprocessing = "none"
    shape: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1, max_length=8)]
    dtype: Dtype = "float32"
    range: tuple[Number, Number]

    @model_validator(mode="after")
    def _require_order(self) -> Self:
        if math.prod(self.shape) > MAX_VALUES:
            raise ValueError(f"a record has {math.prod(self.shape)} values, and at most {MAX_VALUES} may be")
        if self.range[0] > self.range[1]:
            raise ValueError(f"the range goes from {self.range[0]:g} to {self.range[1]:g}: swap them")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the flattened values, x0, x1, ..."""
        return tuple(f"x{index}" for index in range(math.prod(self.shape)))

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of a table's columns; an array has none."""
        return ()

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features for models: the flattened values."""
        return self.names

    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the range repeated for every value, each end of shape (F,)."""
        features = math.prod(self.shape)
        return np.full(features, self.range[0]), np.full(features, self.range[1])

    def whole(self) -> NDArray[np.bool_]:
        """Return which values are always whole numbers, shape (F,)."""
        return np.full(math.prod(self.shape), self.dtype != "float32")

    def text_of(self, column: int, code: float) -> str:
        """Return a value as people write it."""
        return f"{code:g}"

    def takes_missing(self) -> NDArray[np.bool_]:
        """Return which values may be missing, shape (F,): none."""
        return np.zeros(math.prod(self.shape), np.bool_)

    def clip(self, codes: Codes) -> Codes:
        """Return the values unchanged."""
        return codes

    def encode(self, codes: Codes) -> Codes:
        """Return the features (N, F) of flat values (N, F)."""
        return scale(codes, *self.bounds()) if self.preprocessing == "range" else codes


def scale(codes: Codes, low: NDArray[np.float64], high: NDArray[np.float64]) -> Codes:
    """Map ranges onto [0, 1]; values beyond a range go to its ends, and a range of one value to 0."""
    least = low.astype(np.float32)
    most = high.astype(np.float32)
    scaled = np.clip(codes, least, most)
    scaled -= least
    scaled /= np.where(most > least, most - least, np.float32(1))
    return scaled


def twice(names: Iterable[str]) -> str | None:
    """Return the first name that occurs more than once, or None."""
    return next((name for name, times in Counter(names).items() if times > 1), None)
