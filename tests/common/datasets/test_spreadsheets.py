"""Workbooks of Excel."""

import datetime
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter

from ostraka.common.datasets import load
from ostraka.common.datasets.table_files import Table, read_table
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task.table_proposal import propose_task

DAY = datetime.date(2024, 1, 2)
ROWS: list[list[Any]] = [["id", "size", "day", "sick"], ["007", 1.5, DAY, True], [8, None, None, False]]


def workbook(folder: Path, rows: list[list[Any]], *, first: int = 0, sheets: int = 1) -> Path:
    path = folder / "records.XLSX"
    book = xlsxwriter.Workbook(str(path), {"default_date_format": "yyyy-mm-dd"})
    for _ in range(sheets):
        sheet = book.add_worksheet()
        for row, cells in enumerate(rows, start=first):
            for column, cell in enumerate(cells):
                sheet.write(row, column, cell)
    book.close()
    return path


def read(folder: Path, rows: list[list[Any]], **layout: int) -> Table:
    return read_table(workbook(folder, rows, **layout))


def test_a_column_of_one_kind_keeps_it_and_others_are_text(tmp_path: Path) -> None:
    table = read(tmp_path, ROWS, sheets=2)
    assert table.columns.to_pydict() == {
        "id": ["007", "8"],
        "size": [1.5, None],
        "day": [datetime.datetime(2024, 1, 2), None],
        "sick": [True, False],
    }
    assert table.reading.sheet == "Sheet1"
    assert table.reading.left_out == ("the workbook's other sheets, Sheet2",)


def test_a_row_is_found_by_its_number_in_the_sheet(tmp_path: Path) -> None:
    table = read(tmp_path, [*ROWS[:2], [], ROWS[2]], first=2)
    assert [table.origin.place(row) for row in (0, 1)] == ["row 4", "row 6"]


def test_what_is_no_workbook_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OstrakaError, match="nothing in its first sheet 'Sheet1'"):
        read(tmp_path, [])
    path = tmp_path / "other.xlsx"
    path.write_bytes(b"no workbook")
    with pytest.raises(OstrakaError, match="cannot be read as xlsx") as caught:
        read_table(path)
    assert caught.value.code is ErrorCode.DATA_UNREADABLE


def test_a_missing_package_is_told_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(OstrakaError, match=r"pip install 'ostraka\[excel\]', or save"):
        read(tmp_path, ROWS)


@pytest.mark.parametrize("number", [12.5, 1250, 15000, 999.5])
@pytest.mark.parametrize(("text", "readings"), [("1,234", "1234 or 1.234"), ("1.234", "1.234 or 1234")])
def test_numbers_do_not_say_how_text_beside_them_is_written(
    tmp_path: Path, number: float, text: str, readings: str
) -> None:
    table = read(tmp_path, [["w", "v"], [number, 1], [text, 2]])
    with pytest.raises(
        OstrakaError, match=f"column 'w', has '{text}', which has two readings: {readings}"
    ) as e:
        table.require_one_reading(["w"])
    assert e.value.code is ErrorCode.DATA_AMBIGUOUS
    table.require_one_reading(["v"])
    assert table.columns["v"].to_pylist() == [1, 2]
    with pytest.raises(OstrakaError, match="column 'w', has"):
        load(tmp_path / "records.XLSX")


def test_a_task_reads_a_workbook_of_which_it_ignores_a_column_of_two_readings(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["w", "v", "y"], *([50.5, v, "ab"[v % 2]] for v in range(40))]
    rows[3][0] = "1,234"
    table = read(tmp_path, rows)
    proposal = propose_task(table.columns, ["y"], "t", source="r", public=True, reading=table.reading)
    assert proposal.fields["ignore"] == ["w"]
    assert any("has '1,234', which has two readings" in note for note in proposal.notes)
    task = proposal.task()
    assert task.load(tmp_path / "records.XLSX").X[:3, 0].tolist() == [0, 1, 2]
    used = task.model_copy(update={"ignore": (), "id": "w"})
    with pytest.raises(OstrakaError, match="column 'w', has '1,234'"):
        used.load(tmp_path / "records.XLSX")


def test_cells_that_are_merged_in_a_column_have_one_value(tmp_path: Path) -> None:
    path = tmp_path / "records.xlsx"
    book = xlsxwriter.Workbook(str(path))
    sheet = book.add_worksheet()
    sheet.write_row(2, 1, ["ward", "w"])
    sheet.write_column(3, 2, range(5))
    sheet.merge_range(3, 1, 5, 1, "A")
    sheet.merge_range(6, 1, 7, 1, "B")
    book.close()
    table = read_table(path)
    assert table.columns["ward"].to_pylist() == ["A", "A", "A", "B", "B"]
    assert table.reading.sentences()[1:] == (
        "Read as well: 3 cells that are merged with one above them, as its value.",
    )


def test_what_programs_do_not_show_is_read_and_told(tmp_path: Path) -> None:
    path = tmp_path / "records.xlsx"
    book = xlsxwriter.Workbook(str(path))
    sheet = book.add_worksheet()
    for row in range(4):
        sheet.write_row(row, 0, ["a", "b"] if row == 0 else [row, row])
    sheet.set_row(2, None, None, {"hidden": True})
    sheet.set_row(9, None, None, {"hidden": True})
    sheet.set_column(1, 1, None, None, {"hidden": True})
    book.close()
    table = read_table(path)
    assert table.columns["b"].to_pylist() == [1, 2, 3]
    assert table.reading.read_too == (
        "1 rows that are hidden: take them out where they are no records",
        "columns that are hidden",
    )


def test_a_hidden_first_sheet_is_told(tmp_path: Path) -> None:
    path = tmp_path / "records.xlsx"
    book = xlsxwriter.Workbook(str(path))
    hidden = book.add_worksheet("old")
    shown = book.add_worksheet("new")
    for sheet in (hidden, shown):
        sheet.write_column(0, 0, ["a", 1])
    hidden.hide()
    shown.activate()
    shown.set_first_sheet()
    book.close()
    assert read_table(path).reading.read_too == ("the first sheet 'old', though it is hidden",)


def test_hidden_columns_beside_a_table_are_not_told(tmp_path: Path) -> None:
    path = tmp_path / "records.xlsx"
    book = xlsxwriter.Workbook(str(path))
    sheet = book.add_worksheet()
    sheet.write_column(0, 0, ["a", 1])
    sheet.set_column(1, 100, None, None, {"hidden": True})
    book.close()
    assert read_table(path).reading.read_too == ()


def test_records_behind_the_first_sheet_are_not_sought(tmp_path: Path) -> None:
    path = tmp_path / "records.xlsx"
    book = xlsxwriter.Workbook(str(path))
    book.add_worksheet("readme").write(0, 0, "see data")
    book.add_worksheet("data").write_column(0, 0, ["a", 1])
    book.close()
    with pytest.raises(OstrakaError, match=r"sheet 'readme', and no other one is read: .* data, or"):
        read_table(path)


def test_text_that_says_how_it_is_written_is_read_beside_numbers(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["w"], [1500.5], ["1,5"], ["NA"], ["2.000,5"], ["007"]]
    assert read(tmp_path, rows).columns["w"].to_pylist() == ["1500.5", "1.5", "NA", "2000.5", "007"]
    assert read(tmp_path, [["w"], [2], ["true"], ["NA"]]).columns["w"].to_pylist() == ["2", "true", "NA"]


def test_formulas_without_values_and_errors_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "records.xlsx"
    book = xlsxwriter.Workbook(str(path))
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, ["a", "b"])
    for row, stored in enumerate(["", "", 6.0, "#DIV/0!"], start=1):
        sheet.write(row, 0, row)
        sheet.write_formula(row, 1, f"=A{row}*2", None, stored)
    book.close()
    table = read_table(path)
    assert table.columns["b"].null_count == 3
    uncomputed, errors = table.reading.left_out
    assert "2 cells, which count as missing, of formulas whose values are not stored" in uncomputed
    assert "1 cells, which count as missing, of errors such as #DIV/0!" in errors
    computed = "2 formulas whose values may not be computed yet, and be 0"
    assert [told for told in table.reading.read_too if computed in told]


def test_formulas_that_a_spreadsheet_program_computed_are_not_told(tmp_path: Path) -> None:
    path = workbook(tmp_path, [["a"], ["=1+1"]])
    assert read_table(path).reading.read_too
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    with zipfile.ZipFile(path, "w") as book:
        for name, part in parts.items():
            book.writestr(name, part.replace(b' fullCalcOnLoad="1"', b""))
    assert read_table(path).reading.read_too == ()
