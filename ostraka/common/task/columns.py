"""Columns of any kind: truth values, categories, days, numbers, text; their codes and the features of these.

A column is held as one float32 value a record, its code: a number is its own code, a truth value 0 or 1, a
category its place in the list of values, a day the days since the first one allowed; NaN stands for a missing
value. Text is held as a code for each of its features. All of it is public, so that no preprocessing
costs privacy.
"""

from __future__ import annotations

import datetime
import unicodedata
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    Tag,
    model_serializer,
    model_validator,
)

from ostraka.common.validation import FrozenModel

if TYPE_CHECKING:
    import pyarrow as pa


MAX_NAME = 200
"""Characters of a name, which stands in every message about a column."""


def tidy(text: str) -> str:
    """Return a name as tables are read: composed (NFC), without blanks around it."""
    return unicodedata.normalize("NFC", text).strip()


Name = Annotated[
    str,
    BeforeValidator(lambda text: tidy(text) if isinstance(text, str) else text),
    Field(min_length=1, max_length=MAX_NAME, pattern=r"^[^\x00-\x1f\x7f]+$"),
]
Codes = NDArray[np.float32]
INDICATOR: Literal["indicator"] = "indicator"
"""Of a missing value: a feature of its own says that it is missing."""
UNSTATED: tuple[tuple[str, Any], ...] = (("kind", "number"), ("clip", False), ("other", False))
"""Fields that are left out where a column is written: digests stay as they are while options are added."""


@dataclass(frozen=True)
class ReadColumn:
    """A table's values as a column has them.

    Attributes:
        codes: float32, shape (N,), of text (N, width); NaN where missing.
        note: what a person should know of how they were read; empty where nothing is special.
    """

    codes: Codes
    note: str = ""


class NamedColumn(FrozenModel, ABC):
    """One column of a table, told from the others by its name."""

    kind: str
    name: Name

    @abstractmethod
    def read(self, values: pa.ChunkedArray, *, point_is_decimal: bool = True) -> ReadColumn:
        """Return the codes of a table's values; raise `UnreadableValuesError`.

        `point_is_decimal` is as `read_numbers` has it.
        """

    @property
    @abstractmethod
    def codes(self) -> tuple[float, float]:
        """The least and the largest code."""

    @property
    def parts(self) -> tuple[NamedColumn, ...]:
        """What a record holds of the column, one code each: the column itself unless it is of text."""
        return (self,)

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


class BooleanColumn(NamedColumn):
    """Yes or no, all in the words of one family: true and false, yes and no, t and f, 1 and 0, ja and nein.

    Attributes:
        kind: "boolean".
        name: the column's name.
        missing: what a missing value counts as: true, false, or "indicator".
    """

    kind: Literal["boolean"] = "boolean"
    missing: bool | Literal["indicator"] | None = None

    def read(self, values: pa.ChunkedArray, *, point_is_decimal: bool = True) -> ReadColumn:
        """Return the truth values."""
        from ostraka.common.datasets.word_columns import truth_values

        return ReadColumn(truth_values(values).astype(np.float32))

    @property
    def codes(self) -> tuple[float, float]:
        """0 for no, 1 for yes."""
        return 0.0, 1.0

    @property
    def missing_code(self) -> float | None:
        """The code of what a missing value counts as."""
        return float(self.missing) if isinstance(self.missing, bool) else None

    @property
    def indicates(self) -> bool:
        """Whether a feature says that the value is missing."""
        return self.missing == INDICATOR


OTHER = "other"
"""The category of every value that is not listed."""
MAX_CATEGORIES = 1000
"""Of a column, each of which becomes a feature of every record."""


class CategoryColumn(NamedColumn):
    """One of some values, each of which becomes a feature that is 0 or 1.

    Attributes:
        kind: "category".
        name: the column's name.
        values: the values that are told apart, as the table writes them.
        other: whether all values that are not listed count as the value "other", instead of being refused.
        missing: what a missing value counts as: a listed value, "other", or "indicator".
    """

    kind: Literal["category"] = "category"
    values: Annotated[tuple[Name, ...], Field(min_length=1, max_length=MAX_CATEGORIES)]
    other: bool = False
    missing: Name | None = None

    @model_validator(mode="after")
    def _require_distinct(self) -> Self:
        if len(set(self.categories)) < len(self.categories):
            raise ValueError(f"column '{self.name}' names a value twice, or '{OTHER}' besides other = true")
        if INDICATOR in self.values:
            raise ValueError(f"column '{self.name}' has a value '{INDICATOR}', a word of `missing`")
        if self.missing not in (None, INDICATOR, *self.categories):
            raise ValueError(f"column '{self.name}' has missing = '{self.missing}': name one of its values")
        return self

    @property
    def categories(self) -> tuple[str, ...]:
        """The listed values, and "other" where others are taken."""
        return (*self.values, OTHER) if self.other else self.values

    def read(self, values: pa.ChunkedArray, *, point_is_decimal: bool = True) -> ReadColumn:
        """Return the places in the list of values."""
        from ostraka.common.datasets.word_columns import places

        codes = places(values, self.values, other=self.other)
        others = int((codes == len(self.values)).sum()) if self.other else 0
        note = f"{others} of {len(codes)} records count as '{OTHER}'" if others else ""
        return ReadColumn(codes.astype(np.float32), note)

    @property
    def codes(self) -> tuple[float, float]:
        """The places in the list of values."""
        return 0.0, float(len(self.categories) - 1)

    @property
    def missing_code(self) -> float | None:
        """The place of the value that a missing one counts as."""
        return float(self.categories.index(self.missing)) if self.missing in self.categories else None

    @property
    def indicates(self) -> bool:
        """Whether a feature says that the value is missing."""
        return self.missing == INDICATOR


class DateColumn(NamedColumn):
    """A day, which becomes the number of days since the first one allowed.

    Attributes:
        kind: "date".
        name: the column's name.
        min: the first day allowed.
        max: the last day allowed.
        format: how text says a day, as strptime has it ("%d.%m.%Y"); none: 2026-12-31, a time after it is
            cut off. A year of two digits (%y) is of the century that brings the day into the range.
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
    def _require_order(self) -> Self:
        if self.min > self.max:
            raise ValueError(f"column '{self.name}' ranges from {self.min} to {self.max}: swap them")
        if isinstance(self.missing, datetime.date) and not self.min <= self.missing <= self.max:
            raise ValueError(f"column '{self.name}' has missing = {self.missing}: name a day in its range")
        return self

    def read(self, values: pa.ChunkedArray, *, point_is_decimal: bool = True) -> ReadColumn:
        """Return the days since the first one allowed."""
        from ostraka.common.datasets.date_columns import EPOCH, read_days

        days = read_days(values, self.format, (self.min, self.max), clips=self.clip)
        return ReadColumn((days - (self.min - EPOCH).days).astype(np.float32))

    @property
    def codes(self) -> tuple[float, float]:
        """Days since the first one allowed."""
        return 0.0, float((self.max - self.min).days)

    def text_of(self, code: float) -> str:
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
        unit: what it is measured in, for people: sites that agree on a task agree on it. Of "%", text may
            have percent signs.
        decimal: the decimal mark of text that would have two readings without: 1,234.
        clip: whether values beyond the range count as its nearer end, instead of being refused.
        missing: what a missing value counts as: a number of the range, or "indicator".
    """

    kind: Literal["number"] = "number"
    dtype: Dtype = "float32"
    min: Number
    max: Number
    unit: Name | None = None
    decimal: Literal[".", ","] | None = None
    clip: bool = False
    missing: Number | Literal["indicator"] | None = None

    @model_validator(mode="after")
    def _require_order(self) -> Self:
        if self.min > self.max:
            raise ValueError(f"column '{self.name}' ranges from {self.min:g} to {self.max:g}: swap them")
        if isinstance(self.missing, float) and not self.min <= self.missing <= self.max:
            raise ValueError(
                f"column '{self.name}' has missing = {self.missing:g}: name a value in its range"
            )
        return self

    def read(self, values: pa.ChunkedArray, *, point_is_decimal: bool = True) -> ReadColumn:
        """Return the numbers."""
        from ostraka.common.datasets.number_columns import read_numbers

        numbers = read_numbers(
            values, decimal=self.decimal, percent=self.unit == "%", point_is_decimal=point_is_decimal
        )
        return ReadColumn(numbers.values.astype(np.float32), numbers.note)

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


MAX_TEXT_FEATURES = 16_384
"""Of a column of text: as many as there are common words."""
MAX_WORDS = 3
"""That make one feature together: more hardly ever repeat."""


class TextColumn(NamedColumn):
    """Free text, which becomes how often its words occur.

    Each word, and each few in a row, counts for the feature that its hash says: nothing is learned.

    Words are in lower case, a text's counts scaled to length 1 (Weinberger et al., Feature hashing, 2009, but
    without signs); a text that is missing has no words.

    Attributes:
        kind: "text".
        name: the column's name.
        width: how many features there are; words of one feature are not told apart.
        words: how many words in a row count as one, at most.
    """

    kind: Literal["text"] = "text"
    width: Annotated[int, Field(ge=2, le=MAX_TEXT_FEATURES)] = 1024
    words: Annotated[int, Field(ge=1, le=MAX_WORDS)] = 2

    def read(self, values: pa.ChunkedArray, *, point_is_decimal: bool = True) -> ReadColumn:
        """Return the features as codes, (N, width)."""
        from ostraka.common.datasets.text_columns import hash_words

        return ReadColumn(hash_words(values, self.width, self.words))

    @property
    def codes(self) -> tuple[float, float]:
        """Shares of a text's length."""
        return 0.0, 1.0

    @property
    def parts(self) -> tuple[NumberColumn, ...]:
        """A number for each feature."""
        names = (f"{self.name} #{index}" for index in range(self.width))
        # Not validated: there may be thousands, and all are alike.
        return tuple(NumberColumn.model_construct(name=name, min=0.0, max=1.0) for name in names)


def _kind(column: Any) -> str:
    """Return the kind that a column states; a number unless it states one."""
    return str(column.get("kind", "number")) if isinstance(column, dict) else str(getattr(column, "kind", ""))


Column = Annotated[
    Annotated[NumberColumn, Tag("number")]
    | Annotated[BooleanColumn, Tag("boolean")]
    | Annotated[CategoryColumn, Tag("category")]
    | Annotated[DateColumn, Tag("date")]
    | Annotated[TextColumn, Tag("text")],
    Discriminator(
        _kind,
        custom_error_type="kind",
        custom_error_message="kind: choose one of number, boolean, category, date, text",
    ),
]
"""Any column, told by its `kind`."""
