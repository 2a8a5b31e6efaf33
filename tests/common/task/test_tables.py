"""Tables as hospitals have them, read by their task."""

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from ostraka.common.datasets import Dataset, load, save
from ostraka.common.datasets.unreadable import UnreadableValuesError
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import TableInput, Task, load_task, write_task
from ostraka.common.task.columns import MAX_CATEGORIES, CategoryColumn, NumberColumn

TASK = Task.model_validate(
    {
        "name": "sepsis",
        "label": "diagnosis",
        "id": "patient",
        "ignore": ["notes"],
        "classes": ["no", "yes"],
        "input": {
            "kind": "table",
            "preprocessing": "range",
            "columns": [
                {"name": "age", "dtype": "int32", "min": 0, "max": 100},
                {"name": "crp", "min": 0, "max": 200, "clip": True, "missing": "indicator", "unit": "mg/l"},
                {"name": "sex", "kind": "category", "values": ["f", "m"], "other": True, "missing": "other"},
                {"name": "smoker", "kind": "boolean", "missing": False},
                {"name": "admitted", "kind": "date", "min": "2020-01-01", "max": "2020-04-10"},
            ],
        },
    }
)
CSV = """patient,admitted,sex,age,crp,smoker,notes,diagnosis
007,2020-01-01,f,50,100,yes,"fine, so far",no
A8,2020-04-10,m,100,,no,,yes
A9,2020-02-20,x,0,250,,NA,no
"""
CODES = [[50, 100, 0, 1, 0], [100, np.nan, 1, 0, 100], [0, 200, 2, np.nan, 50]]
FEATURES = ("age", "crp", "crp is missing", "sex=f", "sex=m", "sex=other", "smoker", "admitted")
PREPARED: list[list[float]] = [
    [0.5, 0.5, 0, 1, 0, 0, 1, 0],
    [1, 0, 1, 0, 1, 0, 0, 1],
    [0, 1, 0, 0, 0, 1, 0, 0.5],
]


def written(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "records.csv"
    path.write_text(text, encoding=encoding)
    return path


def refused(table: Path | pa.Table, *named: str, code: ErrorCode) -> None:
    with pytest.raises(OstrakaError) as caught:
        TASK.load(table) if isinstance(table, Path) else TASK.read(table)
    assert caught.value.code is code
    assert "\n" not in caught.value.message
    for part in named:
        assert part in caught.value.message


def test_a_table_becomes_codes_ids_and_labels(tmp_path: Path) -> None:
    data = TASK.load(written(tmp_path, CSV))
    np.testing.assert_array_equal(data.X, np.array(CODES, np.float32))
    assert data.ids == ("007", "A8", "A9")
    assert data.labels().tolist() == [0, 1, 0]
    assert TASK.features == FEATURES
    assert TASK.input.shape == (8,)
    assert TASK.prepare(data.X).tolist() == PREPARED


def test_records_come_back_from_an_npz(tmp_path: Path) -> None:
    data = TASK.load(written(tmp_path, CSV))
    save(data.take(np.array([2, 1])), tmp_path / "records.npz")
    again = TASK.load(tmp_path / "records.npz")
    np.testing.assert_array_equal(again.X, data.X[[2, 1]])
    assert again.ids == ("A9", "A8")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (CSV.replace(",", ";").replace("fine; so far", "fine"), "utf-8"),
        (CSV.replace(",", "\t").replace("fine\t so far", "fine"), "utf-8-sig"),
        (CSV.replace(",", "|").replace("fine| so far", "très bien"), "cp1252"),
        (CSV.replace("fine", "très bien"), "utf-16"),
        (CSV.replace(",", ";").replace("fine; so far", "a;b").replace("100;yes", "100,0;yes"), "utf-8-sig"),
        (CSV.replace("\n", "\r\n"), "utf-8"),
        (CSV.replace('"fine, so far"', "fine").replace(",", " , "), "utf-8"),
    ],
)
def test_delimiter_encoding_and_decimal_point_are_told_from_the_file(
    tmp_path: Path, text: str, encoding: str
) -> None:
    data = TASK.load(written(tmp_path, text, encoding))
    np.testing.assert_array_equal(data.X, np.array(CODES, np.float32))


def columns() -> dict[str, Any]:
    return {
        "patient": ["007", "A8", "A9"],
        "admitted": [datetime.date(2020, 1, 1), datetime.date(2020, 4, 10), datetime.date(2020, 2, 20)],
        "sex": ["f", "m", "x"],
        "age": [50, 100, 0],
        "crp": [100.0, None, 250.0],
        "smoker": [True, False, None],
        "notes": ["", "", ""],
        "diagnosis": ["no", "yes", "no"],
    }


def as_parquet(folder: Path) -> Dataset:
    table = pa.table(columns())
    crp = pa.array([Decimal("100.0"), None, Decimal("250.0")], pa.decimal128(8, 2))
    table = table.set_column(4, "crp", crp).set_column(2, "sex", table["sex"].dictionary_encode())
    times = pa.array(columns()["admitted"]).cast(pa.timestamp("us"))
    pyarrow.parquet.write_table(table.set_column(1, "admitted", times), folder / "records.parquet")
    return TASK.load(folder / "records.parquet")


def as_npz(folder: Path) -> Dataset:
    days = [str(day) for day in columns()["admitted"]]
    values = columns() | {"smoker": ["y", "n", ""], "admitted": days, "crp": [100, np.nan, 250]}
    arrays: dict[str, Any] = {name: np.array(value) for name, value in values.items()}
    np.savez(folder / "records.npz", **arrays)
    return TASK.load(folder / "records.npz")


FRAMES = {
    "pandas": lambda folder: TASK.read(pd.DataFrame(columns())),
    "polars": lambda folder: TASK.read(pl.DataFrame(columns())),
    "pyarrow": lambda folder: TASK.read(pa.table(columns())),
    "parquet": as_parquet,
    "npz": as_npz,
}


@pytest.mark.parametrize("kind", FRAMES)
def test_tables_of_any_kind_are_the_same_records(tmp_path: Path, kind: str) -> None:
    data = FRAMES[kind](tmp_path)
    np.testing.assert_array_equal(data.X, np.array(CODES, np.float32))
    assert data.ids == ("007", "A8", "A9")
    assert data.labels().tolist() == [0, 1, 0]


def test_a_pool_has_no_label_column_and_columns_in_any_order() -> None:
    table = pa.table(columns())
    data = TASK.read(table.select(table.column_names[-2::-1]))
    np.testing.assert_array_equal(data.X, np.array(CODES, np.float32))
    assert data.y is None


def test_a_row_with_too_many_cells_says_how_many(tmp_path: Path) -> None:
    path = written(tmp_path, CSV.replace('"', ""))
    refused(path, "line 2 has 9 columns and its header 8; quote text", code=ErrorCode.DATA_UNREADABLE)
    refused(written(tmp_path, ""), "it is empty", code=ErrorCode.DATA_UNREADABLE)


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfea,b\n1,2",
        b"a,b\n1,\x81\n",
        b"a,b\n" + b"x" * 200_000 + b",1\n",
        b"a\x00b,c\n1,2\n",
        b"\n\n\n",
        b'"a,b\n1,2\n',
    ],
)
def test_files_that_are_no_tables_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "records.csv"
    path.write_bytes(content)
    with pytest.raises(OstrakaError) as caught:
        TASK.load(path)
    assert caught.value.code in (ErrorCode.DATA_UNREADABLE, ErrorCode.TASK_MISMATCH)


def test_a_missing_column_is_told_with_its_file(tmp_path: Path) -> None:
    path = written(tmp_path, CSV.replace("crp", "xyz"))
    refused(path, f"The data of {path} lack columns of the task", code=ErrorCode.TASK_MISMATCH)


@pytest.mark.parametrize("sign", ["\u200b", "\ufeff"])
def test_an_id_with_a_sign_that_nobody_sees_is_refused(sign: str) -> None:
    table = pa.table(columns() | {"patient": ["007", f"A8{sign}", "A9"]})
    refused(table, f"{'A8' + sign!a} in row 1, with a character", code=ErrorCode.DATA_UNREADABLE)


def test_whole_numbers_that_are_rounded_are_told(tmp_path: Path) -> None:
    column = NumberColumn(name="size", min=0, max=1e9)
    task = Task(name="t", label="y", classes=("a", "b"), input=TableInput(columns=(column,)))
    path = written(tmp_path, f"size,y\n{2**24 + 1},a\n{2**24},b\n")
    for data in (task.load(path), load(path, "y")):
        assert data.reading is not None
        assert data.reading.columns["size"].endswith("2 different ones become 1")


def test_all_columns_that_do_not_fit_are_told_at_once(tmp_path: Path) -> None:
    text = CSV.replace("f,50", "f,<50").replace("2020-04-10", "10.04.2020").replace("yes,", "perhaps,")
    refused(
        written(tmp_path, text),
        "column 'age' (number) has '<50' in 1 row from line 2 on, no numbers",
        "column 'smoker' (boolean) has 'perhaps' in 1 row from line 2 on",
        "column 'admitted' (date) has '10.04.2020' in 1 row from line 3 on, no dates",
        code=ErrorCode.DATA_NOT_NUMERIC,
    )


@pytest.mark.parametrize(
    ("change", "named", "code"),
    [
        ({"age": [50, None, 0]}, "row 1, column 'age'", ErrorCode.DATA_NAN),
        ({"age": [50, 101, 0]}, "Column 'age' has 101 in row 1", ErrorCode.TASK_MISMATCH),
        ({"age": [50.5, 1, 0]}, "whole numbers", ErrorCode.TASK_MISMATCH),
        (
            {"crp": [np.inf, 1, 0]},
            "has inf in 1 row from row 0 on, no finite number",
            ErrorCode.DATA_NOT_NUMERIC,
        ),
        (
            {"admitted": ["2019-12-31"] * 3},
            "has 2019-12-31 in row 0 but the task's range is 2020-01-01",
            None,
        ),
        ({"admitted": [None] * 3}, "column 'admitted'", ErrorCode.DATA_NAN),
        ({"admitted": [1, 2, 3]}, "not dates", ErrorCode.DATA_NOT_NUMERIC),
        ({"diagnosis": ["no", "yes", "maybe"]}, "'maybe' in row 2", ErrorCode.DATA_LABEL_RANGE),
        ({"weight": [1, 2, 3]}, "drop the column 'weight'.", ErrorCode.TASK_MISMATCH),
    ],
)
def test_values_that_are_off_are_refused(change: dict[str, Any], named: str, code: ErrorCode | None) -> None:
    refused(pa.table(columns() | change), named, code=code or ErrorCode.TASK_MISMATCH)


def test_a_label_column_in_capitals_is_told_apart_from_one_too_many() -> None:
    table = pa.table(columns()).rename_columns({"diagnosis": "Diagnosis"})
    refused(table, "drop the column 'Diagnosis' (did you mean diagnosis?).", code=ErrorCode.TASK_MISMATCH)


def test_rows_without_a_class_are_left_out_and_counted() -> None:
    gap = pa.table(columns() | {"diagnosis": ["no", None, "yes"]})
    data = TASK.read(gap)
    assert data.reading is not None
    assert data.reading.left_out == ("1 of 3 records, which have no class in 'diagnosis'",)
    assert len(data) == len(data.labels()) == 2
    broken = pa.table(columns() | {"diagnosis": ["no", None, "yes"], "smoker": ["yes", "no", "?"]})
    refused(broken, "from row 2 on", code=ErrorCode.DATA_NOT_NUMERIC)


def test_records_to_be_labelled_keep_every_row() -> None:
    pool = TASK.pool(pa.table(columns() | {"diagnosis": ["no", None, "?"]}))
    assert (len(pool), pool.y) == (3, None)
    with pytest.raises(OstrakaError, match="no label in row 0"):
        TASK.read(pa.table(columns() | {"diagnosis": [None, "", "NA"]}))


def test_a_table_without_its_ids_is_refused() -> None:
    refused(
        pa.table(columns()).drop_columns(["patient"]), "no column 'patient'", code=ErrorCode.TASK_MISMATCH
    )


def test_dates_may_have_a_format_of_their_own(tmp_path: Path) -> None:
    fields = TASK.model_dump(mode="json")
    fields["input"]["columns"][4] |= {"format": "%d.%m.%Y"}
    german = CSV.replace("2020-01-01", "01.01.2020").replace("2020-04-10", "10.04.2020")
    task, path = Task.model_validate(fields), written(tmp_path, german.replace("2020-02-20", "20.02.2020"))
    np.testing.assert_array_equal(task.load(path).X, np.array(CODES, np.float32))


def test_the_task_comes_back_from_its_file(tmp_path: Path) -> None:
    write_task(TASK, tmp_path / "task.toml")
    again = load_task(tmp_path / "task.toml")
    assert again == TASK
    assert again.digest == TASK.digest


@pytest.mark.parametrize(
    ("column", "change", "named"),
    [
        (0, {"kind": "numbr"}, "choose one of number, boolean, category, date"),
        (1, {"missing": 201}, "missing = 201: name a value in its range"),
        (2, {"values": ["f", "f"]}, "names a value twice"),
        (2, {"values": ["f", "other"]}, "'other' besides other = true"),
        (2, {"values": ["indicator"], "missing": None}, "a word of `missing`"),
        (2, {"missing": "q"}, "missing = 'q': name one of its values"),
        (4, {"min": "2021-01-01"}, "swap them"),
        (4, {"missing": "2019-01-01"}, "name a day in its range"),
        (4, {"format": "%H:%M"}, "has format '%H:%M', which states no year"),
        (4, {"format": "dd.mm.yyyy"}, "states no year: write one of strptime"),
        (0, {"name": "sex=f"}, "two columns make a feature 'sex=f'"),
        (0, {"name": "notes"}, "column 'notes' is used and is the id, or one to ignore"),
    ],
)
def test_columns_that_make_no_sense_are_refused(column: int, change: dict[str, Any], named: str) -> None:
    fields = TASK.model_dump(mode="json")
    fields["input"]["columns"][column] |= change
    with pytest.raises(ValueError, match=named):
        Task.model_validate(fields)


def test_categories_make_so_many_features(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostraka.common.task.input.MAX_FEATURES", 12)
    with pytest.raises(ValueError, match="make up to 13 features, and at most 12 may be"):
        TableInput(columns=getattr(TASK.input, "columns", ()))


def test_a_column_has_so_many_categories_and_no_more() -> None:
    values = tuple(f"v{number}" for number in range(MAX_CATEGORIES + 1))
    assert len(CategoryColumn(name="x", values=values[:-1]).values) == MAX_CATEGORIES
    with pytest.raises(ValueError, match=f"at most {MAX_CATEGORIES} items"):
        CategoryColumn(name="x", values=values)


@pytest.mark.parametrize("word", ["", "NA", "nan", "NULL"])
def test_words_for_nothing_are_no_ids(tmp_path: Path, word: str) -> None:
    assert TASK.load(written(tmp_path, CSV.replace("A8", word))).ids == ("007", "", "A9")


@pytest.mark.parametrize("number", ["1.23457E+11", "1e+20", '"1,2E+15"'])
def test_ids_that_a_spreadsheet_cut_short_are_refused(tmp_path: Path, number: str) -> None:
    table = written(tmp_path, CSV.replace("A8", number))
    refused(table, number.strip('"') + " in line 3", "left out digits", code=ErrorCode.DATA_UNREADABLE)


def test_lines_are_those_of_the_file_where_rows_were_left_out(tmp_path: Path) -> None:
    table = written(tmp_path, CSV.replace(",yes\n", ",\n").replace("x,0,", "x,101,"))
    refused(table, "101 in line 4", code=ErrorCode.TASK_MISMATCH)


def test_sites_may_write_decimals_differently(tmp_path: Path) -> None:
    text = (
        'name = "t"\nlabel = "y"\nclasses = ["a", "b"]\n[input]\nkind = "table"\n'
        'columns = [ { name = "x", min = 0, max = 9999%s } ]\n'
    )
    tasks = []
    for mark in ("", ', decimal = ","', ', decimal = "."'):
        file = tmp_path / "task.toml"
        file.write_text(text % mark)
        tasks.append(load_task(file))
    assert len({task.digest for task in tasks}) == 1
    table = pa.table({"x": ["1,234", "5,678"], "y": ["a", "b"]})
    assert tasks[1].read(table).X.ravel().tolist() == pytest.approx([1.234, 5.678])
    with pytest.raises(OstrakaError, match="two readings"):
        tasks[0].read(table)


def test_values_beyond_ranges_are_told_of_every_column_beside_unknown_categories() -> None:
    columns = [
        {"name": "age", "min": 0, "max": 120},
        {"name": "kg", "min": 0, "max": 300},
        {"name": "sex", "kind": "category", "values": ["m", "f"]},
    ]
    task = Task.model_validate(
        {"name": "t", "classes": ["a", "b"], "input": {"kind": "table", "columns": columns}}
    )
    table = pa.table({"age": [999, 30], "kg": [80, 301], "sex": ["f", "m"], "label": ["a", "b"]})
    with pytest.raises(
        OstrakaError, match=r"'age' has 999 in row 0 .* 0 to 120; column 'kg' has 301 in row 1"
    ):
        task.read(table)
    with pytest.raises(
        OstrakaError, match=r"'sex' .* has 'x' in 1 row .*; column 'age' has 999 in row 0"
    ) as e:
        task.read(table.set_column(2, "sex", pa.array(["x", "m"])))
    assert e.value.code is ErrorCode.DATA_NOT_NUMERIC


def test_a_category_that_may_be_another_in_thousands_is_refused() -> None:
    column = CategoryColumn(name="dose", values=("1", "10", "1000"), other=True)
    assert column.read(pa.chunked_array([["1.0", "10.0"]])).codes.tolist() == [0, 1]
    with pytest.raises(UnreadableValuesError, match=r"'1\.000' in 1 row from row 1 on, which has two"):
        column.read(pa.chunked_array([["10", "1.000"]]))
