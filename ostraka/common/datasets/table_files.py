"""Tables in .csv, .parquet and .npz files and in memory, as Arrow holds them."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from ostraka.common.datasets import npz
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.archives import UnpackingError, check_unpacked

if TYPE_CHECKING:
    import pyarrow as pa
import codecs
from dataclasses import dataclass
from itertools import islice

DELIMITERS = ",;\t|"
SAMPLE_ROWS = 50
"""Rows that tell a file's delimiter and decimal point: enough that most agree, and read at once."""
PIECE_BYTES = 1 << 20
FALLBACK = "cp1252"
"""What spreadsheets of western Europe write; it reads any byte that is no UTF-8."""
_COMMA = re.compile(r"[+-]?\d+,\d+")
_POINT = re.compile(r"[+-]?\d+\.\d+")


@dataclass(frozen=True)
class CsvFormat:
    """How a file is to be read."""

    delimiter: str
    encoding: str
    decimal: str
    header: tuple[str, ...]


def detect_format(path: Path) -> CsvFormat:
    """Tell the format from the byte-order mark, the bytes, and the first rows of a file; raise OSError."""
    encoding = _encoding(path)
    with path.open(encoding=encoding, newline="", errors="replace") as file:
        lines = list(islice(file, SAMPLE_ROWS))
    delimiter = max(DELIMITERS, key=lambda mark: _columns(lines, mark))
    cells = [cell.strip() for row in csv.reader(lines[1:], delimiter=delimiter) for cell in row]
    commas, points = (sum(bool(kind.fullmatch(cell)) for cell in cells) for kind in (_COMMA, _POINT))
    header = next(csv.reader(lines[:1], delimiter=delimiter), [])
    return CsvFormat(delimiter, encoding, "," if commas > points else ".", tuple(header))


def _columns(lines: list[str], delimiter: str) -> int:
    """Return the columns of the header where there are several, and most rows have as many; else 0."""
    rows = [row for row in csv.reader(lines, delimiter=delimiter) if row]
    agreeing = sum(len(row) == len(rows[0]) for row in rows)
    return len(rows[0]) if 2 * agreeing > len(rows) and len(rows[0]) > 1 else 0


def _encoding(path: Path) -> str:
    with path.open("rb") as file:
        first = file.read(len(codecs.BOM_UTF16_LE))
        # No UTF-8 begins with the byte-order marks of UTF-16.
        if first in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16"
        file.seek(0)
        decoder = codecs.getincrementaldecoder("utf-8-sig")()
        try:
            while piece := file.read(PIECE_BYTES):
                decoder.decode(piece)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return FALLBACK
    return "utf-8-sig"


FLOAT_BYTES = 4
"""What a value takes at least, once it is read."""
_RAGGED = re.compile(r"Expected (\d+) columns, got (\d+)")


class Frame(Protocol):
    """A table in memory that speaks Arrow's stream interface: of pyarrow, pandas or polars."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the table as a stream of Arrow's C interface."""


def is_table(path: Path | str) -> bool:
    """Whether a file that is there holds a table: .csv, .parquet, or .npz with an array for each column."""
    file = Path(path)
    if file.suffix != ".npz":
        return file.suffix in (".csv", ".parquet") and file.is_file()
    return file.is_file() and npz.names(file).isdisjoint(("X", "X_train"))


def read_table(path: Path | str, text: Collection[str] = ()) -> pa.Table:
    """Read a file's table; the columns `text` of a .csv are text whatever they look like.

    Raises:
        OstrakaError: `data.unreadable` where it cannot be parsed, `data.shape` for two columns of one name.
    """
    import pyarrow as pa

    file = Path(path)
    try:
        table = _READERS[file.suffix](file, text)
    except UnpackingError as exc:
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE, f"{file} is not read, {exc}: write it as .csv or .npz."
        ) from exc
    except (pa.ArrowException, OSError, UnicodeError, csv.Error) as exc:
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE,
            f"{file} cannot be read as {file.suffix[1:]}: {_problem(exc)}.",
        ) from exc
    require_distinct(table.column_names, str(file))
    return table


def arrow_table(frame: Frame | Mapping[str, NDArray[Any]], source: str) -> pa.Table:
    """Return a table in memory as Arrow has it; raise `data.unreadable` and `data.shape`."""
    import pyarrow as pa

    try:
        table = pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as exc:
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE,
            f"{source} is no table ({exc}): give one of pyarrow, pandas or polars.",
        ) from exc
    require_distinct(table.column_names, source)
    return table


def require_distinct(names: list[str], source: str) -> None:
    """Raise `data.shape` naming the first column that occurs twice."""
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"{source} has two columns '{repeated[0]}': give every column its own name.",
        )


def _read_csv(file: Path, text: Collection[str]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.csv

    written = detect_format(file)
    table = pa.csv.read_csv(
        file,
        read_options=pa.csv.ReadOptions(encoding=written.encoding),
        parse_options=pa.csv.ParseOptions(delimiter=written.delimiter),
        convert_options=pa.csv.ConvertOptions(
            decimal_point=written.decimal,
            column_types={name: pa.string() for name in written.header if name.strip() in text},
        ),
    )
    return table.rename_columns([name.strip() for name in table.column_names])


def _read_parquet(file: Path, text: Collection[str]) -> pa.Table:
    import pyarrow.parquet

    claimed = pyarrow.parquet.read_metadata(file)
    check_unpacked(claimed.num_rows * claimed.num_columns * FLOAT_BYTES, file.stat().st_size)
    return pyarrow.parquet.read_table(file)


def _read_npz(file: Path, text: Collection[str]) -> pa.Table:
    return arrow_table(npz.read_arrays(file), str(file))


_READERS = {".csv": _read_csv, ".parquet": _read_parquet, ".npz": _read_npz}


def _problem(exc: Exception) -> str:
    ragged = _RAGGED.search(str(exc))
    if ragged:
        expected, found = ragged.groups()
        return f"a row has {found} columns and its header {expected}; quote text that holds the delimiter"
    if isinstance(exc, UnicodeError):
        return "its text is of no encoding that is known; save it as UTF-8"
    return "it is empty" if "Empty CSV" in str(exc) else "check its rows and header"
