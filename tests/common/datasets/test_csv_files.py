"""Files of text as hospitals, spreadsheets and programs write them."""

import gzip
from pathlib import Path

import pytest

from ostraka.common.datasets.reading import Reading
from ostraka.common.datasets.table_files import Table, read_table
from ostraka.common.errors import ErrorCode, OstrakaError

PLAIN = 'id,size,note\n007,1.5,"a, b"\n008,2,\n'
CELLS = {"id": ["007", "008"], "size": ["1.5", "2"], "note": ["a, b", ""]}


def read(folder: Path, content: str | bytes, name: str = "records.csv") -> Table:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(path)


def refusal(folder: Path, content: str | bytes, name: str = "records.csv") -> OstrakaError:
    with pytest.raises(OstrakaError) as caught:
        read(folder, content, name)
    assert "\n" not in caught.value.message
    return caught.value


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (PLAIN, "records.csv"),
        (PLAIN, "RECORDS.CSV"),
        (PLAIN.replace('"a, b"', "a. b").replace(",", "\t").replace("a. b", "a, b"), "records.tsv"),
        (PLAIN.replace('"a, b"', "a. b").replace(",", "|").replace("a. b", "a, b"), "records.Txt"),
        # Its time stamp is part of the case's name, which all processes of a run must agree on.
        (gzip.compress(PLAIN.encode(), mtime=0), "records.csv.gz"),
        (b"\xef\xbb\xbf" + PLAIN.encode(), "records.csv"),
        (PLAIN.encode("utf-16"), "records.csv"),
        (PLAIN.replace("\n", "\r\n"), "records.csv"),
        (PLAIN.replace("\n", "\r"), "records.csv"),
        ("\n" + PLAIN + "\n\n", "records.csv"),
        ("sep=;\n" + 'id;size;note\n007;1.5;"a, b"\n008;2;\n', "records.csv"),
        ("# exported by a ward\n#\n" + PLAIN + "# 2 rows\n", "records.csv"),
        ("".join(line + ",\n" for line in PLAIN.splitlines()), "records.csv"),
        ("id,size,note\n" + "".join(line + ",,\n" for line in PLAIN.splitlines()[1:]), "records.csv"),
        ("".join(f"{at},{line}\n" for at, line in zip(["", 0, 1], PLAIN.splitlines(), strict=True)), "r.csv"),
        (PLAIN.replace("id,size", " id , size"), "records.csv"),
    ],
)
def test_cells_are_text_whatever_is_around_them(tmp_path: Path, content: str | bytes, name: str) -> None:
    assert read(tmp_path, content, name).columns.to_pydict() == CELLS


def test_a_line_that_may_be_a_comment_or_a_record_has_two_readings(tmp_path: Path) -> None:
    refused = refusal(tmp_path, "id,size\n1,2\n#2,3\n3,4\n")
    assert refused.code is ErrorCode.DATA_AMBIGUOUS
    assert "has a line 3 that begins with # and has as many cells as a record" in refused.message
    assert read(tmp_path, 'id,size\n1,2\n"#2",3\n').columns["id"].to_pylist() == ["1", "#2"]
    assert read(tmp_path, "id,size\n#1,2\n#2,3\n").columns["id"].to_pylist() == ["#1", "#2"]


def test_what_was_guessed_and_left_out_is_told(tmp_path: Path) -> None:
    reading = read(tmp_path, "# old\n;size;grö\n1;2;3\n".encode("cp1252")).reading
    left_out = ("column 1, which has no name", "1 line of comments, which begin with #")
    assert reading == Reading("Windows-1252", True, ";", left_out=left_out)
    assert reading.sentences() == (
        "Read as Windows-1252, its cells parted by semicolons.",
        "It is not UTF-8, and Windows-1252 is a guess: save it as UTF-8 where letters look wrong.",
        "Left out: column 1, which has no name.",
        "Left out: 1 line of comments, which begin with #.",
    )


@pytest.mark.parametrize("word", ["ÄÖÜ äöüß", "crème brûlée", "« café »", "hääyöaie", "d’été–hiver"])
def test_words_of_western_europe_are_no_foreign_text(tmp_path: Path, word: str) -> None:
    table = read(tmp_path, f"c,y\n{word},a\n".encode("cp1252"))
    assert table.columns["c"].to_pylist() == [word]


def test_a_header_may_begin_with_the_sign_of_comments(tmp_path: Path) -> None:
    assert read(tmp_path, "#id,size\n1,2\n").columns.column_names == ["#id", "size"]
    assert read(tmp_path, "#id,sex\na,m\nb,f\n").columns.column_names == ["#id", "sex"]
    assert read(tmp_path, "#id,sex\n").columns.column_names == ["#id", "sex"]


@pytest.mark.parametrize("comment", ["#exported,2021", "#exported,by a ward"])
def test_a_comment_of_several_cells_is_no_header(tmp_path: Path, comment: str) -> None:
    table = read(tmp_path, f"{comment}\nid,size\na,1\nb,2\n")
    assert table.columns.to_pydict() == {"id": ["a", "b"], "size": ["1", "2"]}


def test_rows_may_begin_with_the_sign_of_comments(tmp_path: Path) -> None:
    table = read(tmp_path, "id,size\n#1,2\n# checked\n#2,3\n")
    assert table.columns["id"].to_pylist() == ["#1", "#2"]
    assert table.reading.left_out == ("1 line of comments, which begin with #",)
    assert table.origin.place(1) == "line 4"


@pytest.mark.parametrize("content", ["w\n1\n\n2\n", "w\r\n\r\n2\r\n\r\n"])
def test_blank_lines_in_a_file_of_one_column_are_told(tmp_path: Path, content: str) -> None:
    told = "1 blank line; write NA where a value is missing"
    assert read(tmp_path, content).reading.left_out == (told,)
    assert not read(tmp_path, "w,v\n1,2\n\n2,3\n").reading.left_out


def test_quoted_line_ends_are_read_in_files_of_any_size(tmp_path: Path) -> None:
    table = read(tmp_path, "id,note\n" + '1,"two\nlines of text"\n' * 60_000)
    assert table.columns.num_rows == 60_000
    assert table.columns["note"][59_999].as_py() == "two\nlines of text"
    assert table.origin.place(1_000) == "line 2002"


def test_a_row_is_found_by_its_line(tmp_path: Path) -> None:
    text = '# c\nid,note\n1,"x\ny"\n\n# a comment\n2,z\n'
    assert [read(tmp_path, text).origin.place(row) for row in (0, 1)] == ["line 3", "line 7"]


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("a,b\n" + "1,2\n" * 500 + "1,2,3\n" + "1,2\n" * 500, "line 502 has 3 columns and its header 2"),
        ('a,b\n1,"x\ny"\n\n3\n', "line 5 has 1 column and its header 2; add the missing cells"),
        ("a,b\n1,2,3\n4,5,6\n", "name every column in the header"),
        ('a,b\n1,2\n3,"x\n4,5\n6,7\n', "the row that begins in line 3 is not closed"),
        ('a,b\n1,"x\n3,"y\n', "the row that begins in line 2 is not closed, or more text follows"),
        ("a,b,c\n1,2,3\n#4,5,6,7\n", "line 3 has 4 columns and its header 3"),
        ("a,b,c\n1,2,3\n#4,5\n", "line 3 has 2 columns and its header 3"),
        (gzip.compress(b"a,b\n", mtime=0), "it is packed by gzip; name it so, as records.csv.gz"),
        (
            "Report of 2024\n\na,b\n1,2\n",
            "delete the lines above the column names, such as 'Report of 2024'",
        ),
        ("a,b\n1,2\nSource: registry\n", "or delete the line if it is not a record"),
        (b"\xd0\xcf\x11\xe0" + bytes(9), "an old Excel (.xls), or has a password; save it as .csv"),
        (b"PAR1\x00", "it is a Parquet file; name it .parquet"),
        ('\n[{"a": 1}]', "it is JSON; write a table as .csv"),
        ("\ufeff<HTML><table>", "it is a web page; save the table as .csv"),
        (b"PK\x03\x04abc", "it is a workbook or a zip archive; name it .xlsx"),
        ("", "it is empty"),
        ("\n# nothing\n", "it is empty"),
        (b"a\x00,b\n", "bytes of 0"),
        (PLAIN.encode("utf-32"), "bytes of 0"),
        (b"\xff\xfea", "marked as UTF-16, but its text is not"),
        ("größe,ä\nö,ü\n".encode() + b"\xff,1\n", "UTF-8 except for a byte 0xff in line 3"),
        ("c,y\nКиев,a\n".encode("cp1251"), "neither UTF-8 nor Windows-1252, which gives 'Êèåâ' in line 2"),
        ("c,y\nКиїв,a\n".encode("cp1251"), "which gives 'è¿â' in line 2"),
        ("c,y\nmąka,a\n".encode("cp1250"), "which gives 'm¹k' in line 2"),
        ("c,y\nMünchen,a\n".encode("mac_roman"), "which gives 'Ÿn' in line 2"),
        ("c,y\nMärz,a\nBär,b\n".encode("mac_roman"), "which gives 'MŠr' in line 2"),
        ("c,y\n東京,a\n".encode("shift_jis"), "neither UTF-8 nor Windows-1252"),
        ("c,y\nZürich,a\n".encode("cp850"), "the encoding of its text is unknown"),
        ("a,b\n" + "x" * 200_000 + ",1\n", "a cell of its first rows is longer than 131072"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(tmp_path: Path, content: str | bytes, named: str) -> None:
    error = refusal(tmp_path, content)
    assert named in error.message
    assert error.code is ErrorCode.DATA_UNREADABLE


def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    packed = gzip.compress(PLAIN.encode())
    assert "it is cut off" in refusal(tmp_path, packed[:-9], "r.csv.gz").message
    assert "cannot be read as csv" in refusal(tmp_path, b"no archive", "r.csv.gz").message
    for start, name in ((b"\x1f\x8b", "r.csv.gz"), (b"PAR1", "r.parquet"), (b"PK\x03\x04", "r.xlsx")):
        assert "it is damaged, or cut off" in refusal(tmp_path, start + b"abcdefgh", name).message


@pytest.mark.heavy
def test_archives_that_unpack_to_too_much_are_refused(tmp_path: Path) -> None:
    bomb = gzip.compress(bytes(65 << 20))
    assert "claim to unpack" in refusal(tmp_path, bomb, "r.csv.gz").message


@pytest.mark.parametrize("header", ["a,b,a", "a,b, a", "a\u0308,b,\u00e4"])
def test_names_that_look_the_same_are_refused(tmp_path: Path, header: str) -> None:
    error = refusal(tmp_path, f"{header}\n1,2,3\n")
    assert "columns 1 and 3" in error.message
    assert error.code is ErrorCode.DATA_SHAPE


def test_letters_are_composed(tmp_path: Path) -> None:
    table = read(tmp_path, "gro\u0308\u00dfe,b\nZu\u0308rich,2\n").columns
    assert table.to_pydict() == {"gr\u00f6\u00dfe": ["Z\u00fcrich"], "b": ["2"]}
