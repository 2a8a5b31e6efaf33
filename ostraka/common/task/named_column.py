"""What every column of a table tells: its codes, and the features that public preprocessing makes of them.

A column is held as one float32 value a record, its code: a number is its own code, a truth value 0 or 1, a
category its place in the list of values, a day the days since the first one allowed; NaN stands for a missing
value. All of it is public, so that no preprocessing costs privacy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from ostraka.common.validation import FrozenModel

if TYPE_CHECKING:
    import pyarrow as pa

Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Codes = NDArray[np.float32]
INDICATOR: Literal["indicator"] = "indicator"
"""Of a missing value: a feature of its own says that it is missing."""
UNSTATED: tuple[tuple[str, Any], ...] = (("kind", "number"), ("clip", False), ("other", False))
"""Fields that are left out where a column is written: digests stay as they are while options are added."""


class NamedColumn(FrozenModel, ABC):
    """One column of a table, told from the others by its name."""

    kind: str
    name: Name

    @abstractmethod
    def read(self, values: pa.ChunkedArray) -> Codes:
        """Return the codes (N,) of a table's values, NaN where missing; raise `UnreadableValuesError`."""

    @property
    @abstractmethod
    def codes(self) -> tuple[float, float]:
        """The least and the largest code."""

    @property
    def whole(self) -> bool:
        """Whether codes are whole numbers."""
        return True

    @property
    def clips(self) -> bool:
        """Whether a value beyond the range counts as the nearer end of it, instead of being refused."""
        return False

    @property
    def missing_code(self) -> float | None:
        """The code that a missing value is given; None where missing values are refused or indicated."""
        return None

    @property
    def indicates(self) -> bool:
        """Whether a feature of its own says that the value is missing."""
        return False

    @property
    def takes_missing(self) -> bool:
        """Whether values may be missing."""
        return self.indicates or self.missing_code is not None

    @property
    def categories(self) -> tuple[str, ...]:
        """Values that have a feature each; none where the code is the feature."""
        return ()

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that models take."""
        named = tuple(f"{self.name}={value}" for value in self.categories) or (self.name,)
        return (*named, f"{self.name} is missing") if self.indicates else named

    def text_of(self, code: float) -> str:
        """Return a code as people write its value."""
        return f"{code:g}"

    def encode(self, codes: Codes, scaled: Codes) -> Codes:
        """Return the features (N, len(features)) of codes (N,), NaN where missing, `scaled` by their range.

        A value that is missing without a constant has 0 in every feature but the one that indicates it.
        """
        missing = np.isnan(codes)
        if self.categories:
            features = (codes[:, None] == np.arange(len(self.categories))).astype(np.float32)
        else:
            features = np.where(missing, np.float32(0), scaled)[:, None]
        return np.column_stack([features, missing]).astype(np.float32) if self.indicates else features

    @model_serializer(mode="wrap")
    def _drop_unstated(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what nobody stated: the kind of a number, and options that are off."""
        fields: dict[str, Any] = serialize(self)
        return {k: v for k, v in fields.items() if v is not None and (k, v) not in UNSTATED}
