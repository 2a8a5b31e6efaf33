"""What was guessed and left out when a table was read, and where its rows stand, for people."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Self


@dataclass(frozen=True)
class Reading:
    """What was guessed about a table, and which parts of it were left out.

    Attributes:
        encoding: the encoding of a text file, such as "UTF-8"; empty for other tables.
        guessed: whether the encoding is a guess, because the bytes fit other encodings as well.
        delimiter: the delimiter of a text file; empty for other tables.
        sheet: the sheet of a workbook that was read; empty for other tables.
        left_out: a phrase for each part of the table that was not read, with the reason.
        read_too: a phrase for each part that was read although people may not expect it.
        columns: a phrase by column: an unusual notation of its numbers, how many records count as the
            category "other" or are clipped, and which values may mean a missing value.
        decimal_commas: whether a text column shows that commas are decimal marks.
        ambiguous: by column the reason why it has two readings; using such a column is refused.
    """

    encoding: str = ""
    guessed: bool = False
    delimiter: str = ""
    sheet: str = ""
    left_out: tuple[str, ...] = ()
    read_too: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    decimal_commas: bool = False
    ambiguous: Mapping[str, str] = field(default_factory=dict)

    @property
    def point_is_decimal(self) -> bool:
        """Whether a point before three digits is certainly a decimal point.

        If semicolons separate the cells, commas are decimal marks, and points may separate thousands.
        """
        return self.delimiter != ";" and not self.decimal_commas

    def note(self, columns: Mapping[str, str]) -> Self:
        """Return the reading with another phrase for each of these columns."""
        told = {name: "; ".join(filter(None, (self.columns.get(name), columns[name]))) for name in columns}
        return replace(self, columns={**self.columns, **told})

    def sentences(self) -> tuple[str, ...]:
        """Return what a person should know, as sentences."""
        told = []
        if self.delimiter:
            told.append(
                f"Read as {self.encoding}, its cells parted by"
                f" {DELIMITER_NAMES.get(self.delimiter, self.delimiter)}."
            )
        if self.guessed:
            told.append(
                f"It is not UTF-8, and {self.encoding} is a guess: save it as UTF-8 where letters look wrong."
            )
        if self.sheet:
            told.append(f"Read the sheet '{self.sheet}'.")
        told += [f"Left out: {what}." for what in self.left_out]
        told += [f"Read as well: {what}." for what in self.read_too]
        told += [f"Column '{name}': {what}." for name, what in self.columns.items()]
        return tuple(told)


DELIMITER_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


@dataclass(frozen=True)
class Origin:
    """Where a table comes from; its text form is its name.

    Attributes:
        name: the name in error messages: a file's path, or "the table".
        number_of: maps a row, counted from 0, to the number by which people find it; None: the same number.
        unit: what that number counts: "line" of a text file, or "row".
    """

    name: str
    number_of: Callable[[int], int] | None = None
    unit: str = "row"

    def __str__(self) -> str:
        return self.name

    def place(self, row: int) -> str:
        """Return the position of a row, such as "line 3"."""
        return f"{self.unit} {row if self.number_of is None else self.number_of(row)}"


def place(source: Origin | str, row: int) -> str:
    """Return the position of a row of a source; if the source is only a name, rows are counted from 0."""
    return source.place(row) if isinstance(source, Origin) else f"row {row}"
