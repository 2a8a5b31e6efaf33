"""Tables in text files: .csv, .tsv, .txt, optionally packed by gzip; every cell is read as text."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from ostraka.common.datasets.plain_columns import name_columns
from ostraka.common.datasets.reading import Origin, Reading
from ostraka.common.datasets.signatures import HEAD, tell_content
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.archives import MAX_UNPACKED_BYTES, UnpackingError, check_unpacked

DELIMITERS = ",;\t|"
SAMPLE_ROWS = 50
"""Number of rows from which the delimiter is inferred: enough for a majority, and quick to read."""
COMMENT = "#"
FALLBACK = "cp1252"
"""The encoding that spreadsheets in western Europe write."""
FALLBACK_NAME = "Windows-1252"
_SEPARATOR = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
"""The line that tells Excel which delimiter the file uses."""
_LETTERS = re.compile(r"[À-ÖØ-öø-ÿ]{3,}")
"""Three letters beyond ASCII in a row; words of western Europe have these only with umlauts."""
_UMLAUTS = frozenset("äöüÄÖÜßåÅ")
_SIGN = re.compile(
    r"[^\W\d_][„”…†‡ˆ‰‹›™¢£¤¥¦§¨©¬®¯¶¸¿¹²³][^\W\d_]|[^\W\d_][ŠŽŒ][a-zß-ÿ]|[a-zß-ÿ][ŠŽŒŸ]|Ÿ[a-zß-ÿ]|(?<!\w)[³¹][^\W\d_]"
)
"""A sign inside a word, or a capital after or before small letters: evidence of another encoding."""
_SMALL_BLOCK = 1 << 20
"""Minimum number of bytes that Arrow parses at a time; a quoted cell must not be longer than a block."""


@dataclass(frozen=True)
class _Text:
    """A file's text as UTF-8 in composed letters (NFC), without a byte-order mark."""

    data: bytes
    encoding: str
    guessed: bool = False


@dataclass(frozen=True)
class _Layout:
    """Where a text's rows begin, and which delimiter separates its cells.

    Attributes:
        delimiter: the character between cells.
        header: the column names, plus an empty name for each cell that all rows have beyond the header; those
            cells are empty.
        lines: number of lines before the first row, including the header.
        start: number of bytes before the first row.
        comments: number of comment lines before the header.
    """

    delimiter: str
    header: tuple[str, ...]
    lines: int
    start: int
    comments: int


def read_csv(file: Path) -> tuple[pa.Table, Origin, Reading]:
    """Return a file's columns as text, the positions of its rows, and what was guessed.

    Raises:
        OstrakaError: `data.unreadable` for an unknown encoding, a row with too many or too few cells, and an
            unclosed quote, naming the line; `data.shape` as in `name_columns`.
    """
    try:
        return _read(file)
    except csv.Error as exc:
        raise _unreadable(file, f"a cell of its first rows is longer than {csv.field_size_limit()}") from exc


def _read(file: Path) -> tuple[pa.Table, Origin, Reading]:
    text = _decode(_read_bytes(file), file)
    layout = _find_layout(text.data, file)
    body = memoryview(text.data)[layout.start :]
    if b'"' in text.data:
        _check_quotes(text.data, layout, file)
    table, comments = _parse(body, layout, file)
    _refuse_wide_comments(table, body, layout, file)
    named, left_out = name_columns(table, list(layout.header), str(file))
    comments += layout.comments
    if comments:
        left_out = (
            *left_out,
            f"{comments} line{'s' * (comments > 1)} of comments, which begin with {COMMENT}",
        )
    blank = _count_blank(body, layout)
    if blank:
        left_out = (
            *left_out,
            f"{blank} blank line{'s' * (blank > 1)}; write NA where a value is missing",
        )
    origin = Origin(str(file), lambda row: _line_of(file, row), "line")
    return named, origin, Reading(text.encoding, text.guessed, layout.delimiter, left_out=left_out)


def _read_bytes(file: Path) -> bytes:
    if file.suffix.lower() != ".gz":
        return _require_text(file.read_bytes(), file)
    packed = file.stat().st_size
    most = min(MAX_UNPACKED_BYTES, max(64 << 20, 100 * packed))
    try:
        with gzip.open(file) as stream:
            data = stream.read(most + 1)
        check_unpacked(len(data), packed)
    except UnpackingError as exc:
        raise _unreadable(file, f"{exc}; write it without gzip") from exc
    except EOFError as exc:
        raise _unreadable(file, "it is cut off; copy it again") from exc
    return data


def _require_text(raw: bytes, file: Path) -> bytes:
    """Return the bytes; refuse another kind of file that has the name of a text file."""
    other = tell_content(raw[:HEAD])
    if other:
        raise _unreadable(file, other)
    return raw


def _decode(raw: bytes, file: Path) -> _Text:
    """Return a file's text: decoded by its byte-order mark, as UTF-8, or as Windows-1252 if plausible."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not raw.startswith(codecs.BOM_UTF32_LE):
        try:
            return _Text(_compose(raw.decode("utf-16")), "UTF-16")
        except UnicodeDecodeError as exc:
            raise _unreadable(file, "it is marked as UTF-16, but its text is not; save it as UTF-8") from exc
    if b"\x00" in raw:
        raise _unreadable(file, "it contains bytes of 0, which text never has; save it as UTF-8")
    data = raw.removeprefix(codecs.BOM_UTF8)
    if data.isascii():
        return _Text(data, "UTF-8")
    try:
        text = data.decode()
    except UnicodeDecodeError as exc:
        return _guess(data, exc, file)
    return _Text(data if unicodedata.is_normalized("NFC", text) else _compose(text), "UTF-8")


def _guess(data: bytes, damage: UnicodeDecodeError, file: Path) -> _Text:
    """Decode text that is not UTF-8 as Windows-1252; refuse damaged UTF-8 and text in other encodings."""
    replaced = data.decode(errors="replace")
    lost = replaced.count("\ufffd")
    kept = sum(map(len, re.findall(r"[^\x00-\x7f\ufffd]+", replaced)))
    line = data[: damage.start].count(b"\n") + 1
    if kept >= lost:
        raise _unreadable(
            file,
            f"it is UTF-8 except for a byte {data[damage.start]:#04x} in line {line}; correct it there",
        )
    try:
        text = data.decode(FALLBACK)
    except UnicodeDecodeError as exc:
        raise _unreadable(file, "the encoding of its text is unknown; save it as UTF-8") from exc
    letters = (run for run in _LETTERS.finditer(text) if not _UMLAUTS.issuperset(run[0]))
    foreign = next(letters, None) or _SIGN.search(text)
    if foreign:
        line = text.count("\n", 0, foreign.start()) + 1
        word = foreign[0]
        raise _unreadable(
            file,
            f"its encoding is neither UTF-8 nor {FALLBACK_NAME}, which gives {word!r} in line {line}; save"
            " it as UTF-8",
        )
    return _Text(_compose(text), FALLBACK_NAME, guessed=True)


def _compose(text: str) -> bytes:
    return unicodedata.normalize("NFC", text).encode()


def _lines(data: bytes | memoryview) -> io.TextIOWrapper:
    """Return the lines of a text with their line ends, as `csv` expects them."""
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")


def _find_layout(data: bytes, file: Path) -> _Layout:
    """Find where the table begins and which delimiter it uses, from its first rows."""
    lines = _lines(data)
    before = 0
    start = 0
    comments: list[str] = []
    delimiter = ""
    ahead: list[str] = []
    for line in lines:
        separator = _SEPARATOR.fullmatch(line)
        if separator and not before:
            delimiter = separator[1]
        elif line.startswith(COMMENT):
            comments.append(line)
        elif line.strip():
            ahead = [line, *islice(lines, SAMPLE_ROWS)]
            break
        before += 1
        start += len(line.encode())
    if comments and _is_header(comments[-1], ahead, delimiter):
        # The last line that begins with the comment sign contains the column names.
        line = comments.pop()
        ahead = [line, *ahead]
        before -= 1
        start -= len(line.encode())
    if not ahead:
        raise _unreadable(file, "it is empty")
    delimiter = delimiter or _tell_delimiter(ahead)
    taken: list[str] = []
    try:
        header = next(csv.reader(_keep(ahead, taken), delimiter=delimiter, strict=True))
    except csv.Error as exc:
        raise _unreadable(file, f"a quote of its header, in line {before + 1}, is not closed") from exc
    before += len(taken)
    start += sum(len(line.encode()) for line in taken)
    # The last line of the sample may be an incomplete row.
    rows = list(_rows(ahead[len(taken) :], delimiter))[: SAMPLE_ROWS - 1]
    return _Layout(delimiter, (*header, *_beyond(header, rows)), before, start, len(comments))


def _is_header(comment: str, rows: list[str], delimiter: str) -> bool:
    """Whether a line that begins with the comment sign contains the column names of the rows after it.

    It does not if the first of these rows looks like a header, or if the line contains a number.
    """
    if comment.startswith(f"{COMMENT} "):
        return False
    lines = [comment, *rows]
    mark = delimiter or _tell_delimiter(lines)
    if _columns(lines, mark) < 2:
        return False
    names, *records = _rows(lines, mark)
    return not any(map(_is_number, names)) and not _has_names(records)


def _has_names(records: list[list[str]]) -> bool:
    """Whether the first row has a word in a column that otherwise contains only numbers."""
    if not records:
        return False
    first, *others = records
    columns = zip(first, *others, strict=False)
    return any(others and not _is_number(name) and all(map(_is_number, cells)) for name, *cells in columns)


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"[+-]?[\d.,]+", cell.strip(), re.ASCII) is not None


def _keep(lines: Iterable[str], taken: list[str]) -> Iterator[str]:
    for line in lines:
        taken.append(line)
        yield line


def _rows(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    """Yield the rows; skip blank ones."""
    return (row for row in csv.reader(lines, delimiter=delimiter) if row)


def _beyond(header: list[str], rows: list[list[str]]) -> list[str]:
    """Return an empty column name for each empty cell that all rows have beyond the end of the header."""
    widths = {len(row) for row in rows}
    more = min(widths, default=0) - len(header)
    if len(widths) != 1 or more < 1 or any(cell.strip() for row in rows for cell in row[len(header) :]):
        return []
    return [""] * more


def _count_blank(body: memoryview, layout: _Layout) -> int:
    """Count the blank lines between the rows of a one-column table; they may be missing values."""
    if len(layout.header) > 1:
        return 0
    rows = list(csv.reader(_lines(bytes(body).rstrip()), delimiter=layout.delimiter))
    return rows.count([])


def _tell_delimiter(lines: list[str]) -> str:
    return max(DELIMITERS, key=lambda mark: _columns(lines, mark))


def _columns(lines: list[str], delimiter: str) -> int:
    """Return the header's number of columns if it is above 1 and most rows have at least as many; else 0."""
    rows = list(_rows(lines, delimiter))
    agreeing = sum(len(row) >= len(rows[0]) for row in rows)
    return len(rows[0]) if 2 * agreeing > len(rows) and len(rows[0]) > 1 else 0


def _check_quotes(data: bytes, layout: _Layout, file: Path) -> None:
    """Refuse unclosed quotes: they would merge many rows into one cell."""
    rows = csv.reader(_lines(data[layout.start :]), delimiter=layout.delimiter, strict=True)
    begun = 0
    try:
        for _ in rows:
            begun = rows.line_num
    except csv.Error as exc:
        line = layout.lines + begun + 1
        if "field limit" in str(exc):
            longest = csv.field_size_limit()
            raise _unreadable(
                file, f"a cell of the row that begins in line {line} is longer than {longest}"
            ) from exc
        raise _unreadable(
            file,
            f"a quote of the row that begins in line {line} is not closed, or more text follows it; close"
            " it, and write quotes inside quoted text twice",
        ) from exc


def _parse(body: memoryview, layout: _Layout, file: Path) -> tuple[pa.Table, int]:
    """Return columns of text named by number, and the count of comment lines among the rows."""
    names = [str(at) for at in range(len(layout.header))]
    if not body:
        return pa.table({name: pa.array([], pa.string()) for name in names}), 0
    comments = 0

    def take_note(row: pyarrow.csv.InvalidRow) -> str:
        nonlocal comments
        if not row.text.startswith(COMMENT) or row.actual_columns > 1:
            return "error"
        comments += 1
        return "skip"

    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(pa.py_buffer(body)),
            read_options=pyarrow.csv.ReadOptions(
                column_names=names, block_size=max(_SMALL_BLOCK, len(body)), use_threads=False
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=layout.delimiter, newlines_in_values=True, invalid_row_handler=take_note
            ),
            convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
    except pa.ArrowInvalid as exc:
        raise _find_ragged_row(file, layout) or _unreadable(file, "check its rows and header") from exc
    return table, comments


def _refuse_wide_comments(table: pa.Table, body: memoryview, layout: _Layout, file: Path) -> None:
    """Refuse lines that begin with the comment sign and have as many cells as a record.

    Only tables in which some but not all rows begin with it are checked: such a line is a comment or a
    record.
    """
    marked = pc.fill_null(pc.starts_with(table.column(0), COMMENT), False)
    if pc.sum(marked).as_py() in (None, 0, len(marked)) or not re.search(rb"^#", body, re.MULTILINE):
        return
    for line, text in enumerate(_lines(body), start=layout.lines + 1):
        if text.startswith(COMMENT) and _columns([text], layout.delimiter) == len(layout.header):
            raise OstrakaError(
                ErrorCode.DATA_AMBIGUOUS,
                f"{file} has a line {line} that begins with {COMMENT} and has as many cells as a record,"
                " so it may be a comment or a record: delete the line, or put its first cell in quotes.",
            )


def _find_ragged_row(file: Path, layout: _Layout) -> OstrakaError | None:
    """Return the refusal of the first row whose number of cells differs from the header's."""
    expected = len(layout.header)
    for line, row in _rows_by_line(file):
        if len(row) != expected:
            advice = "add the missing cells, even if empty, or delete the line if it is not a record"
            if len(row) > expected:
                advice = "quote text that contains the delimiter, and name every column in the header"
            if len(row) > expected == 1:
                advice = f"delete the lines above the column names, such as {layout.header[0]!r}"
            cells = f"{len(row)} column{'s' * (len(row) > 1)}"
            return _unreadable(file, f"line {line} has {cells} and its header {expected}; {advice}")
    return None


def _rows_by_line(file: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the line in which each row begins, and the row; leave comments out."""
    data = _decode(_read_bytes(file), file).data
    layout = _find_layout(data, file)
    rows = csv.reader(_lines(data[layout.start :]), delimiter=layout.delimiter)
    begun = 0
    for row in rows:
        line = layout.lines + begun + 1
        begun = rows.line_num
        comment = len(row) == 1 < len(layout.header) and row[0].startswith(COMMENT)
        if row and not comment:
            yield line, row


def _line_of(file: Path, row: int) -> int:
    """Return the line in which a row begins; the file is read again, because only refusals need the line."""
    return next(islice((line for line, _ in _rows_by_line(file)), row, None), 0)


def _unreadable(file: Path, why: str) -> OstrakaError:
    return OstrakaError(ErrorCode.DATA_UNREADABLE, f"{file} cannot be read: {why}.")
