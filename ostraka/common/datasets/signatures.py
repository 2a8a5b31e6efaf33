"""Recognition of a file's type by its first bytes, whatever its name."""

SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", "it is packed by gzip; name it so, as records.csv.gz"),
    (b"PK\x03\x04", "it is a workbook or a zip archive; name it .xlsx, or unpack it"),
    (
        b"\xd0\xcf\x11\xe0",
        "it is a workbook of an old Excel (.xls), or has a password; save it as .csv, or as .xlsx without"
        " a password",
    ),
    (b"PAR1", "it is a Parquet file; name it .parquet"),
    (b"$FL2", "it is a file of SPSS; export it as .csv"),
    (b"HEADER RECORD", "it is a file of SAS; export it as .csv"),
    (b"<stata_dta>", "it is a file of Stata; export it as .csv"),
    (b"SQLite format 3", "it is a database; export the table as .csv"),
    (b"%PDF", "it is a PDF; export the table as .csv"),
    (b"{\\rtf", "it is a text document; save the table as .csv"),
)
_TEXT_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"<!doctype", "it is a web page; save the table as .csv"),
    (b"<html", "it is a web page; save the table as .csv"),
    (b"<table", "it is a web page; save the table as .csv"),
    (b"<?xml", "it is XML; save the table as .csv"),
    (b'{"', "it is JSON; write a table as .csv"),
    (b"[{", "it is JSON; write a table as .csv"),
)
"""Signatures of text files, in lower case, after leading blanks."""
HEAD = 512
"""Number of bytes that are checked: signatures are shorter, and blank lines may precede them."""


def tell_content(head: bytes) -> str:
    """Return the kind of a file that begins with these bytes, and advice; empty for a table of text."""
    text = head[:HEAD].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    known = next((what for sign, what in SIGNATURES if head.startswith(sign)), "")
    return known or next((what for sign, what in _TEXT_SIGNATURES if text.startswith(sign)), "")
