"""Columns of any kind: truth values, categories, days, numbers, text; their codes and features.

A column is stored as one float32 value per record, its code. The code of a number is the number itself; of a
truth value 0 or 1; of a category its index in the list of values; of a day the number of days since the first
allowed one. NaN means a missing value. Text is stored as one code for each of its features. All of this is
public, so preprocessing costs no privacy.
"""

from __future__ import annotations

import datetime
import re
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
"""Maximum number of characters in a name, because every message about a column contains it."""


def tidy(text: str) -> str:
    """Return a name as tables are read: composed (NFC), without surrounding blanks."""
    return unicodedata.normalize("NFC", text).strip()


Name = Annotated[
    str,
    BeforeValidator(lambda text: tidy(text) if isinstance(text, str) else text),
    Field(min_length=1, max_length=MAX_NAME, pattern=r"^[^\x00-\x1f\x7f]+$"),
]
Codes = NDArray[np.float32]
INDICATOR: Literal["indicator"] = "indicator"
"""Option for missing values: a feature of its own indicates that the value is missing."""
UNSTATED: tuple[tuple[str, Any], ...] = (("kind", "number"), ("clip", False), ("other", False))
"""Fields that are left out when a column is written, so that digests stay the same when options are added."""


@dataclass(frozen=True)
class ReadColumn:
    """A table's values converted to a column's codes.

    Attributes:
        codes: float32, shape (N,), for text (N, width); NaN where missing.
        note: what a person should know about how they were read; empty if nothing is special.
    """

    codes: Codes
    note: str = ""


class NamedColumn(FrozenModel, ABC):
    """One column of a table, identified by its name."""

    kind: str
    name: Name

    @abstractmethod
    def read(self, values: pa.ChunkedArray, *, point_is_decimal: bool = True) -> ReadColumn:
        """Return the codes of a table's values; raise `UnreadableValuesError`.

        `point_is_decimal` has the same meaning as in `read_numbers`.
        """

    @property
    @abstractmethod
    def codes(self) -> tuple[float, float]:
        """The smallest and the largest code."""

    @property
    def parts(self) -> tuple[NamedColumn, ...]:
        """The parts of the column that a record stores, one code each: the column itself, except for text."""
        return (self,)

    @property
    def whole(self) -> bool:
        """Whether codes are whole numbers."""
        return True

    @property
    def clips(self) -> bool:
        """Whether a value beyond the range counts as its nearest end instead of being refused."""
        return False

    @property
    def missing_code(self) -> float | None:
        """The code for a missing value; None if missing values are refused or have an indicator."""
        return None

    @property
    def indicates(self) -> bool:
        """Whether a feature of its own indicates that the value is missing."""
        return False

    @property
    def takes_missing(self) -> bool:
        """Whether values may be missing."""
        return self.indicates or self.missing_code is not None

    @property
    def categories(self) -> tuple[str, ...]:
        """The values that have a feature each; empty if the code itself is the feature."""
        return ()

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features for models."""
        named = tuple(f"{self.name}={value}" for value in self.categories) or (self.name,)
        return (*named, f"{self.name} is missing") if self.indicates else named

    def text_of(self, code: float) -> str:
        """Return a code's value as people write it."""
        return f"{code:g}"

    def encode(self, codes: Codes, scaled: Codes) -> Codes:
        """Return the features (N, len(features)) of codes (N,), NaN where missing, and of the `scaled` codes.

        A missing value without a constant has 0 in every feature except its indicator.
        """
        missing = np.isnan(codes)
        if self.categories:
            features = (codes[:, None] == np.arange(len(self.categories))).astype(np.float32)
        else:
            features = np.where(missing, np.float32(0), scaled)[:, None]
        return np.column_stack([features, missing]).astype(np.float32) if self.indicates else features

    @model_serializer(mode="wrap")
    def _drop_unstated(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out fields with default values: the kind of a number, and options that are off."""
        fields: dict[str, Any] = serialize(self)
        return {k: v for k, v in fields.items() if v is not None and (k, v) not in UNSTATED}


class BooleanColumn(NamedColumn):
    """Yes or no, with all words from one family: true and false, yes and no, t and f, 1 and 0, ja and nein.

    Attributes:
        kind: "boolean".
        name: the column's name.
        missing: how to treat a missing value: as true, as false, or "indicator".
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
        """The code of the value that replaces a missing one."""
        return float(self.missing) if isinstance(self.missing, bool) else None

    @property
    def indicates(self) -> bool:
        """Whether a feature indicates that the value is missing."""
        return self.missing == INDICATOR


OTHER = "other"
"""The category of every value that is not listed."""
MAX_CATEGORIES = 1000
"""Maximum number of categories in a column; each becomes a feature of every record."""


class CategoryColumn(NamedColumn):
    """One of several values, each of which becomes a feature that is 0 or 1.

    Attributes:
        kind: "category".
        name: the column's name.
        values: the values with a category of their own, as the table writes them.
        other: whether every value that is not listed counts as "other" instead of being refused.
        missing: how to treat a missing value: as a listed value, as "other", or "indicator".
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
        """The listed values, and "other" if unlisted values are accepted."""
        return (*self.values, OTHER) if self.other else self.values

    def read(self, values: pa.ChunkedArray, *, point_is_decimal: bool = True) -> ReadColumn:
        """Return the indices in the list of values."""
        from ostraka.common.datasets.word_columns import places

        codes = places(values, self.values, other=self.other)
        others = int((codes == len(self.values)).sum()) if self.other else 0
        note = f"{others} of {len(codes)} records count as '{OTHER}'" if others else ""
        return ReadColumn(codes.astype(np.float32), note)

    @property
    def codes(self) -> tuple[float, float]:
        """The first and the last index in the list of values."""
        return 0.0, float(len(self.categories) - 1)

    @property
    def missing_code(self) -> float | None:
        """The index of the value that replaces a missing one."""
        return float(self.categories.index(self.missing)) if self.missing in self.categories else None

    @property
    def indicates(self) -> bool:
        """Whether a feature indicates that the value is missing."""
        return self.missing == INDICATOR


_YEAR = re.compile(r"%[YyGcx]")
"""The parts of strptime's formats that state a year; without one, every day is in 1900."""


class DateColumn(NamedColumn):
    """A day, which becomes the number of days since the first allowed one.

    Attributes:
        kind: "date".
        name: the column's name.
        min: the first allowed day.
        max: the last allowed day.
        format: the format of days in text, as in strptime ("%d.%m.%Y"); None: 2026-12-31, and a time after it
            is dropped. A year of two digits (%y) gets the century that puts the day into the range.
        clip: whether a day beyond the range counts as its nearest end instead of being refused.
        missing: how to treat a missing day: as a day of the range, or "indicator".
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
        if self.format is not None and not _YEAR.search(self.format):
            raise ValueError(
                f"column '{self.name}' has format '{self.format}', which states no year: write one of"
                " strptime, such as %d.%m.%Y"
            )
        return self

    def read(self, values: pa.ChunkedArray, *, point_is_decimal: bool = True) -> ReadColumn:
        """Return the days since the first allowed one."""
        from ostraka.common.datasets.date_columns import EPOCH, read_days

        days = read_days(values, self.format, (self.min, self.max), clips=self.clip)
        return ReadColumn((days - (self.min - EPOCH).days).astype(np.float32))

    @property
    def codes(self) -> tuple[float, float]:
        """The smallest and the largest number of days since the first allowed one."""
        return 0.0, float((self.max - self.min).days)

    def text_of(self, code: float) -> str:
        """Return the day, such as 2026-12-31, or a number of days if the date is beyond the calendar."""
        try:
            return str(self.min + datetime.timedelta(days=int(code)))
        except OverflowError:
            return f"{code:g} days after {self.min}"

    @property
    def clips(self) -> bool:
        """Whether days beyond the range count as its nearest end."""
        return self.clip

    @property
    def missing_code(self) -> float | None:
        """The number of days from the first allowed day to the day that replaces a missing one."""
        return float((self.missing - self.min).days) if isinstance(self.missing, datetime.date) else None

    @property
    def indicates(self) -> bool:
        """Whether a feature indicates that the day is missing."""
        return self.missing == INDICATOR


Number = Annotated[float, Field(ge=-1e38, le=1e38, allow_inf_nan=False)]
Dtype = Literal["float32", "int32", "uint8"]


class NumberColumn(NamedColumn):
    """A number with its public range, both ends included.

    Attributes:
        kind: "number".
        name: the column's name.
        dtype: "float32", or "int32" and "uint8" for whole numbers.
        min: the smallest value.
        max: the largest value.
        unit: the unit of measurement, for people; sites that agree on a task agree on the unit. If it is "%",
            text may contain percent signs.
        decimal: the decimal mark of text that would otherwise have two readings, such as 1,234.
        clip: whether a value beyond the range counts as its nearest end instead of being refused.
        missing: how to treat a missing value: as a number of the range, or "indicator".
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
        from ostraka.common.datasets.number_columns import note_rounded, read_numbers

        numbers = read_numbers(
            values, decimal=self.decimal, percent=self.unit == "%", point_is_decimal=point_is_decimal
        )
        note = "; ".join(filter(None, (numbers.note, note_rounded(numbers.values))))
        return ReadColumn(numbers.values.astype(np.float32), note)

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
        """Whether values beyond the range count as its nearest end."""
        return self.clip

    @property
    def missing_code(self) -> float | None:
        """The number that replaces a missing value."""
        return self.missing if isinstance(self.missing, float) else None

    @property
    def indicates(self) -> bool:
        """Whether a feature indicates that the number is missing."""
        return self.missing == INDICATOR


MAX_TEXT_FEATURES = 16_384
"""Maximum number of features of a text column: about the number of common words."""
MAX_WORDS = 3
"""Maximum number of words that make up one feature together: longer runs hardly ever repeat."""


class TextColumn(NamedColumn):
    """Free text, which becomes counts of its words.

    The hash of each word, and of each short run of words, selects the feature that counts it; nothing is
    learned.

    Words are in lower case, and a text's counts are scaled to length 1 (Weinberger et al., Feature hashing,
    2009, but without signs). A missing text has no words.

    Attributes:
        kind: "text".
        name: the column's name.
        width: the number of features; words with the same feature are not distinguished.
        words: the maximum number of consecutive words that count as one.
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
        """The range of each feature: 0 to 1, because a text's counts have length 1."""
        return 0.0, 1.0

    @property
    def parts(self) -> tuple[NumberColumn, ...]:
        """A number column for each feature."""
        names = (f"{self.name} #{index}" for index in range(self.width))
        # Not validated: there may be thousands, and all are alike.
        return tuple(NumberColumn.model_construct(name=name, min=0.0, max=1.0) for name in names)


def _kind(column: Any) -> str:
    """Return the kind that a column states; "number" if it states none."""
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
"""Any column, identified by its `kind`."""
