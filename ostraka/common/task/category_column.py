"""Columns of categories, of which each becomes a feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from ostraka.common.task.named_column import INDICATOR, Codes, Name, NamedColumn

if TYPE_CHECKING:
    import pyarrow as pa

OTHER = "other"
"""The category of every value that is not listed."""
MOST_CATEGORIES = 1000


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
    values: Annotated[tuple[Name, ...], Field(min_length=1, max_length=MOST_CATEGORIES)]
    other: bool = False
    missing: Name | None = None

    @model_validator(mode="after")
    def _told_apart(self) -> Self:
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

    def read(self, values: pa.ChunkedArray) -> Codes:
        """Return the places in the list of values."""
        from ostraka.common.task import table_values

        return table_values.places(values, self.values, other=self.other)

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
