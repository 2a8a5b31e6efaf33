"""Tables in files and in memory as columns of a few plain types, whatever their format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from zipfile import BadZipFile

from numpy.typing import NDArray

from ostraka.common.datasets import npz
from ostraka.common.datasets.reading import Origin, Reading
from ostraka.common.datasets.signatures import HEAD, tell_content
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.archives import UnpackingError, check_unpacked

if TYPE_CHECKING:
    import pyarrow as pa

TEXT_FILES = (".csv", ".tsv", ".txt")
KINDS = (*TEXT_FILES, ".parquet", ".xlsx", ".npz")
"""Suffixes of files from which records are read; the suffix of a text file may be followed by .gz."""
FLOAT_BYTES = 4
"""Minimum size of a value in memory."""


class Frame(Protocol):
    """A table in memory that has Arrow's stream interface, such as one of pyarrow, pandas or polars."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the table as a stream of Arrow's C interface."""


@dataclass(frozen=True)
class Table:
    """A table's columns, the positions of its rows, and what was guessed.

    Attributes:
        columns: text, numbers, truth values, days, times or nulls. A column of another type is refused when
            it is used. In a text file every column is text.
        origin: what error messages call the table and its rows.
        reading: what was guessed and left out.
    """

    columns: pa.Table
    origin: Origin
    reading: Reading

    def without(self, names: Collection[str]) -> Table:
        """Return the table without these columns; names that it does not have are skipped."""
        kept = [name for name in self.columns.column_names if name not in names]
        return replace(self, columns=self.columns.select(kept))

    def require_one_reading(self, names: Collection[str]) -> None:
        """Raise `data.ambiguous` for the first of these columns that has two readings."""
        for name, why in self.reading.ambiguous.items():
            if name in names:
                raise OstrakaError(
                    ErrorCode.DATA_AMBIGUOUS, f"{self.origin}, column '{name}', {why}.", column=name
                )

    def keep(self, rows: pa.ChunkedArray, why: str) -> Table:
        """Return the table with only the rows for which `rows` is true; `why` describes the others."""
        import numpy as np

        places = np.flatnonzero(rows.to_numpy())
        number_of = self.origin.number_of or int
        origin = replace(self.origin, number_of=lambda row: number_of(int(places[row])))
        reading = replace(self.reading, left_out=(*self.reading.left_out, why))
        return Table(self.columns.filter(rows), origin, reading)


def kind_of(path: Path | str) -> str | None:
    """Return the kind that a file's name states, such as ".csv"; None if it is not one of `KINDS`."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes[-1:] == [".gz"]:
        return suffixes[-2] if suffixes[-2:-1] and suffixes[-2] in TEXT_FILES else None
    return suffixes[-1] if suffixes[-1:] and suffixes[-1] in KINDS else None


def is_table(path: Path | str) -> bool:
    """Whether an existing file contains a table: every kind except an .npz of records of one shape."""
    file = Path(path)
    kind = kind_of(file)
    if kind is None or not file.is_file():
        return False
    return kind != ".npz" or npz.names(file).isdisjoint(("X", "X_train"))


def read_table(path: Path | str) -> Table:
    """Read a file's table.

    Raises:
        OstrakaError: `data.unreadable` if it cannot be parsed, naming the line if the file has lines;
            `data.shape` for two columns of one name.
    """
    import pyarrow as pa

    file = Path(path)
    kind = kind_of(file) or ""
    try:
        return _look_for_commas(Table(*_READERS[kind](file)))
    except UnpackingError as exc:
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE, f"{file} is not read because {exc}: write it as .csv or .npz."
        ) from exc
    except (pa.ArrowException, OSError, ValueError, BadZipFile) as exc:
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE,
            f"{file} cannot be read as {kind[1:]}: {_content_of(file) or 'write it again'}.",
        ) from exc


_SIGNS = {".parquet": b"PAR1", ".xlsx": b"PK\x03\x04", ".gz": b"\x1f\x8b"}
"""The first bytes of files that have the name of their content."""


def _content_of(file: Path) -> str:
    """Return what is wrong with a misnamed or damaged file, and advice; empty if it is not recognized."""
    with suppress(OSError), file.open("rb") as stream:
        head = stream.read(HEAD)
        if head.startswith(_SIGNS.get(file.suffix.lower(), b"\0")):
            return "it is damaged, or cut off; copy it again, or write it again"
        return tell_content(head) or ("it is text; name it .csv" if head.isascii() and head else "")
    return ""


def frame_table(frame: Frame | Mapping[str, NDArray[Any]], origin: Origin) -> Table:
    """Return a table in memory, such as one of pyarrow, pandas or polars; raises as `plain_table`."""
    from ostraka.common.datasets.plain_columns import plain_table

    columns, left_out = plain_table(frame, origin)
    return _look_for_commas(Table(columns, origin, Reading(left_out=left_out)))


def _look_for_commas(table: Table) -> Table:
    """Return the table with `reading.decimal_commas` set."""
    from ostraka.common.datasets.number_columns import has_decimal_commas

    return replace(table, reading=replace(table.reading, decimal_commas=has_decimal_commas(table.columns)))


def require_distinct(names: Sequence[str], source: str) -> None:
    """Raise `data.shape` naming the first column name that occurs twice, and the columns' positions."""
    repeated = next((name for name, times in Counter(names).items() if times > 1), None)
    if repeated is not None:
        places = [str(at) for at, name in enumerate(names, start=1) if name == repeated]
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"{source} has two columns '{repeated}', columns {' and '.join(places)}: give every"
            " column its own name.",
            column=repeated,
        )


_Parts: TypeAlias = "tuple[pa.Table, Origin, Reading]"


def _read_csv(file: Path) -> _Parts:
    from ostraka.common.datasets.csv_files import read_csv

    return read_csv(file)


def _read_xlsx(file: Path) -> _Parts:
    from ostraka.common.datasets.spreadsheets import read_xlsx

    return read_xlsx(file)


def _read_parquet(file: Path) -> _Parts:
    import pyarrow.parquet

    claimed = pyarrow.parquet.read_metadata(file)
    check_unpacked(claimed.num_rows * claimed.num_columns * FLOAT_BYTES, file.stat().st_size)
    table = frame_table(pyarrow.parquet.ParquetFile(file).read(), Origin(str(file)))
    return table.columns, table.origin, table.reading


def _read_npz(file: Path) -> _Parts:
    table = frame_table(npz.read_arrays(file), Origin(str(file)))
    return table.columns, table.origin, table.reading


_READERS: dict[str, Callable[[Path], _Parts]] = {
    **dict.fromkeys(TEXT_FILES, _read_csv),
    ".parquet": _read_parquet,
    ".xlsx": _read_xlsx,
    ".npz": _read_npz,
}
