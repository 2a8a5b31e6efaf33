"""Columns of any kind."""

from typing import Annotated, Any

from pydantic import Discriminator, Tag

from ostraka.common.task.boolean_column import BooleanColumn
from ostraka.common.task.category_column import CategoryColumn
from ostraka.common.task.date_column import DateColumn
from ostraka.common.task.number_column import NumberColumn


def _kind(column: Any) -> str:
    """Return the kind that a column states; a number unless it states one."""
    return str(column.get("kind", "number")) if isinstance(column, dict) else str(getattr(column, "kind", ""))


Column = Annotated[
    Annotated[NumberColumn, Tag("number")]
    | Annotated[BooleanColumn, Tag("boolean")]
    | Annotated[CategoryColumn, Tag("category")]
    | Annotated[DateColumn, Tag("date")],
    Discriminator(
        _kind,
        custom_error_type="kind",
        custom_error_message="kind: choose one of number, boolean, category, date",
    ),
]
"""Any column, told by its `kind`."""
