"""How a text file of a table is written: its delimiter, encoding and decimal point, told from the file."""

import codecs
import csv
import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

DELIMITERS = ",;\t|"
SAMPLE_ROWS = 50
PIECE_BYTES = 1 << 20
FALLBACK = "cp1252"
"""What spreadsheets of western Europe write; it reads any byte that is no UTF-8."""
_COMMA, _POINT = re.compile(r"[+-]?\d+,\d+"), re.compile(r"[+-]?\d+\.\d+")


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
