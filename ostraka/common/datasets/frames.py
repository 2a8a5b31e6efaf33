"""Tables for notebooks: pandas data frames if pandas is installed, and HTML."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from ostraka.common.errors import ErrorCode, OstrakaError

if TYPE_CHECKING:
    from pandas import DataFrame

SHOWN = 10
"""Number of rows that a notebook shows."""


def data_frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> "DataFrame":
    """Return rows as a pandas data frame; raise `config.invalid` if pandas is not installed."""
    try:
        import pandas as pd
    except ImportError as exc:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, "Data frames need pandas: install it with pip install pandas."
        ) from exc
    return pd.DataFrame(rows, columns=None if columns is None else list(columns))


def html_table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return an HTML table of the first rows, with every cell escaped."""
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows[:SHOWN]
    )
    more = f"<p>{len(rows) - SHOWN} more rows</p>" if len(rows) > SHOWN else ""
    return f"<p>{escape(caption)}</p><table><tr>{head}</tr>{body}</table>{more}"
