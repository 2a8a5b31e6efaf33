"""Tables in .csv, .parquet and .npz files and in memory, as Arrow holds them."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from ostraka.common.datasets import npz
from ostraka.common.datasets.csv_format import detect_format
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.archives import UnpackingError, check_unpacked

if TYPE_CHECKING:
    import pyarrow as pa

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
