"""Columns of truth values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ostraka.common.task.named_column import INDICATOR, Codes, NamedColumn

if TYPE_CHECKING:
    import pyarrow as pa


class BooleanColumn(NamedColumn):
    """Yes or no: true and false, yes and no, y and n, t and f, or 1 and 0.

    Attributes:
        kind: "boolean".
        name: the column's name.
        missing: what a missing value counts as: true, false, or "indicator".
    """

    kind: Literal["boolean"] = "boolean"
    missing: bool | Literal["indicator"] | None = None

    def read(self, values: pa.ChunkedArray) -> Codes:
        """Return the truth values."""
        from ostraka.common.task import table_values

        return table_values.truth_values(values)

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
