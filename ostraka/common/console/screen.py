"""Terminal output of commands, including tables; text of other sites is escaped."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Column, Table

from ostraka.common.errors import printable


class Screen(Console):
    """A console that does not interpret markup, escapes control codes, and never truncates cells of a table.

    The text of a table that is too wide is wrapped at spaces; if its numbers and names alone are wider than
    the terminal, the table is too. Colours are left out if NO_COLOR is set or if this is not a terminal.
    """

    def __init__(self, *, stderr: bool = False, soft_wrap: bool = False) -> None:
        """Print to stdout, or to `stderr`; with `soft_wrap` the terminal breaks long lines."""
        super().__init__(stderr=stderr, soft_wrap=soft_wrap, markup=False, emoji=False)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as a `Console` does, but never crop a long line."""
        super().print(*objects, **{"crop": False} | options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the printed pieces of text of `renderable`; line breaks between them are kept."""
        options = options or self.options
        if isinstance(renderable, Table):
            options = _with_room(renderable, options, self)
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else "\n".join(map(printable, text.split("\n"))), style, control)


_NUMBER = re.compile(r"-?$|[-+]?[\d.]")
"""Pattern for the beginning of cells of a column of numbers, including those without a value."""


def table_of(
    head: Sequence[str], rows: Iterable[Sequence[RenderableType]], title: str | None = None
) -> Table:
    """Return a table of these rows; numbers are aligned right."""
    table = Table(*head, title=title)
    shown = list(rows)
    for row in shown:
        table.add_row(*row)
    for column, cells in zip(table.columns, zip(*shown, strict=True), strict=False):
        if all(isinstance(cell, str) and _NUMBER.match(cell) for cell in cells):
            column.justify = "right"
    return table


def _with_room(table: Table, options: ConsoleOptions, console: Console) -> ConsoleOptions:
    """Keep the words of a table whole that is wider than `options` allow; return options with enough room."""
    unlimited = options.update(width=_UNLIMITED)
    if Measurement.get(console, unlimited, table).maximum <= options.max_width:
        return options
    for column in table.columns:
        word, cell = _widths(column, unlimited, console)
        column.min_width = word
        if cell <= word:
            column.width = word
    needed = Measurement.get(console, unlimited, table).minimum
    return options.update(width=max(options.max_width, needed))


_UNLIMITED = 10_000
"""A width that is enough for every table."""


def _widths(column: Column, options: ConsoleOptions, console: Console) -> tuple[int, int]:
    """Return the widths of a column's longest word, its header's included, and of its longest cell."""
    cells = [Measurement.get(console, options, cell) for cell in column.cells]
    header = Measurement.get(console, options, column.header)
    word = max((header.minimum, *(cell.minimum for cell in cells)))
    return word, max((cell.maximum for cell in cells), default=0)
