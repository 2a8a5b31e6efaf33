"""What reading a table guessed and left out, and where its rows stand, for people."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Self


@dataclass(frozen=True)
class Reading:
    """What was guessed about a table, and what of it was left out.

    Attributes:
        encoding: of a file of text, such as "UTF-8"; empty for other tables.
        guessed: whether the encoding is a guess: the bytes fit it, and other encodings as well.
        delimiter: what parts the cells of a file of text; empty for other tables.
        sheet: the sheet of a workbook that was read; empty for other tables.
        left_out: what is in the table and was not read, and why, a phrase each.
        read_too: what was read though people may not think so, a phrase each.
        columns: a phrase by column: how its numbers are written, where that is not plain, how many records
            count as the category "other" or are clipped, and what may stand for a missing value.
        decimal_commas: whether a column of text shows that commas are decimal marks.
        ambiguous: by column why it has two readings, so that whoever uses it is refused.
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
        """Whether points before three digits are decimal points for certain.

        Where semicolons part cells, commas are decimal marks, and points may part thousands.
        """
        return self.delimiter != ";" and not self.decimal_commas

    def note(self, columns: Mapping[str, str]) -> Self:
        """Return the reading with a further phrase for each of these columns."""
        told = {name: "; ".join(filter(None, (self.columns.get(name), columns[name]))) for name in columns}
        return replace(self, columns={**self.columns, **told})

    def sentences(self) -> tuple[str, ...]:
        """Return what a person should know, a sentence each."""
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
    """Where a table comes from; as text its name.

    Attributes:
        name: what errors call it: a file's path, or "the table".
        number_of: the number by which people find a row, which is counted from 0; None: the same number.
        unit: what that number counts: "line" of a text file, or "row".
    """

    name: str
    number_of: Callable[[int], int] | None = None
    unit: str = "row"

    def __str__(self) -> str:
        return self.name

    def place(self, row: int) -> str:
        """Return where a row stands, such as "line 3" of a file."""
        return f"{self.unit} {row if self.number_of is None else self.number_of(row)}"


def place(source: Origin | str, row: int) -> str:
    """Return where a row of a source stands; of one without more than a name rows are counted from 0."""
    return source.place(row) if isinstance(source, Origin) else f"row {row}"
