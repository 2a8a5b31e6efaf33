"""One table is the same records in whatever form it comes."""

import datetime
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ostraka.common.datasets import Dataset
from ostraka.common.datasets.word_columns import texts
from ostraka.common.task import Task

Columns = dict[str, list[Any]]
Form = Callable[[Columns, Path], Dataset]
WORDS = ("Zürich", "a,b", 'say "no"', "007", "1", "none", "two\nlines")
FIRST = datetime.date(1960, 1, 1)


def task(classes: tuple[str, ...]) -> Task:
    columns = [
        {"name": "age", "dtype": "int32", "min": -1000, "max": 1000, "missing": "indicator"},
        {"name": "größe", "min": -1000, "max": 1000, "missing": "indicator"},
        {"name": "sex", "kind": "category", "values": WORDS[:-1], "other": True, "missing": "other"},
        {"name": "smoker", "kind": "boolean", "missing": "indicator"},
        {"name": "code", "kind": "category", "values": ["1", "2", "3"], "missing": "indicator"},
        {"name": "born", "kind": "date", "min": FIRST, "max": "2030-12-31", "missing": "indicator"},
    ]
    fields = {"name": "t", "label": "y", "id": "pid", "classes": classes}
    return Task.model_validate({**fields, "input": {"kind": "table", "columns": columns}})


TASKS: dict[tuple[str, ...], Task] = {
    classes: task(classes) for classes in (("true", "false"), ("b", "a"), ("2", "1"))
}
LABELS: dict[tuple[str, ...], list[Any]] = {
    ("true", "false"): [True, False],
    ("b", "a"): ["b", "a"],
    ("2", "1"): [2, 1],
}


def gaps(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), values)


@st.composite
def tables(draw: st.DrawFn) -> tuple[tuple[str, ...], Columns]:
    classes = draw(st.sampled_from(sorted(TASKS)))
    rows = draw(st.integers(2, 6))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=rows, max_size=rows))

    # Quarters have no three decimals, which semicolons would make thousands.
    quarters = st.integers(-4000, 4000).map(lambda number: number / 4)
    days = st.integers(0, 25_000).map(lambda day: FIRST + datetime.timedelta(days=day))
    return classes, {
        "pid": [f"{row:03}" for row in range(rows)],
        "age": column(gaps(st.integers(-1000, 1000))),
        "größe": column(gaps(quarters)),
        "sex": column(gaps(st.sampled_from(WORDS))),
        "smoker": column(gaps(st.booleans())),
        "code": column(gaps(st.integers(1, 3))),
        "born": column(gaps(days)),
        "y": column(st.sampled_from(LABELS[classes])),
    }


def pandas_frame(columns: Columns) -> pd.DataFrame:
    return pd.DataFrame(columns)


def written(name: str, write: Callable[[Columns, Path], object]) -> Callable[[Task, Columns, Path], Dataset]:
    def read(task: Task, columns: Columns, folder: Path) -> Dataset:
        write(columns, folder / name)
        return task.load(folder / name)

    return read


def write_xlsx(columns: Columns, file: Path) -> None:
    book = xlsxwriter.Workbook(str(file), {"default_date_format": "yyyy-mm-dd"})
    sheet = book.add_worksheet()
    for at, (name, values) in enumerate(columns.items()):
        sheet.write(0, at, name)
        for row, value in enumerate(values, start=1):
            if value is not None:
                sheet.write_string(row, at, value) if isinstance(value, str) else sheet.write(row, at, value)
    book.close()


def write_npz(columns: Columns, file: Path) -> None:
    gap = {"sex": "", "smoker": "", "born": "", "age": np.nan, "größe": np.nan, "code": np.nan}
    arrays: dict[str, Any] = {
        name: np.array([gap[name] if value is None else value for value in values])
        for name, values in columns.items()
        if name != "born"
    }
    born = np.array(["" if value is None else str(value) for value in columns["born"]])
    np.savez(file, born=born, **arrays)


def odd_arrow(columns: Columns) -> pa.Table:
    """Large text, views and dictionaries in several pieces."""
    table = pa.table(columns)
    sex = table["sex"].cast(pa.large_string()).dictionary_encode()
    table = table.set_column(table.column_names.index("sex"), "sex", sex)
    pid = table["pid"].cast(pa.string_view())
    table = table.set_column(table.column_names.index("pid"), "pid", pid)
    times = table["born"].cast(pa.timestamp("us")).cast(pa.timestamp("us", "Asia/Tokyo"))
    table = table.set_column(table.column_names.index("born"), "born", times)
    return pa.concat_tables([table.slice(0, 1), table.slice(1)], promote_options="permissive")


FORMS: dict[str, Callable[[Task, Columns, Path], Dataset]] = {
    "arrow": lambda task, columns, _: task.read(pa.table(columns)),
    "odd arrow": lambda task, columns, _: task.read(odd_arrow(columns)),
    "pandas": lambda task, columns, _: task.read(
        pandas_frame(columns).sample(frac=1, random_state=0).sort_index()
    ),
    "nullable pandas": lambda task, columns, _: task.read(pandas_frame(columns).convert_dtypes()),
    "polars": lambda task, columns, _: task.read(pl.DataFrame(columns, strict=False)),
    "polars categories": lambda task, columns, _: task.read(
        pl.DataFrame(columns, strict=False).with_columns(pl.col("sex").cast(pl.Categorical))
    ),
    "csv": written("t.CSV", lambda columns, file: pandas_frame(columns).to_csv(file, index=False)),
    "csv with an index": written("t.csv", lambda columns, file: pandas_frame(columns).to_csv(file)),
    "semicolons": written(
        "t.txt", lambda columns, file: pandas_frame(columns).to_csv(file, index=False, sep=";", decimal=",")
    ),
    "tabs": written(
        "t.tsv", lambda columns, file: pl.DataFrame(columns, strict=False).write_csv(file, separator="\t")
    ),
    "utf-16": written(
        "t.csv", lambda columns, file: pandas_frame(columns).to_csv(file, index=False, encoding="utf-16")
    ),
    "gzip": written(
        "t.csv.gz",
        lambda columns, file: file.write_bytes(
            gzip.compress(pandas_frame(columns).to_csv(index=False).encode())
        ),
    ),
    "parquet": written("t.parquet", lambda columns, file: pq.write_table(pa.table(columns), file)),
    "pandas' parquet": written(
        "t.parquet",
        lambda columns, file: (
            pandas_frame(columns)
            .iloc[::-1]
            .iloc[::-1]
            .set_axis([5, *range(1, len(columns["y"]))])
            .to_parquet(file)
        ),
    ),
    "xlsx": written("t.xlsx", write_xlsx),
    "npz": written("t.npz", write_npz),
}


TABLE: Columns = {
    "pid": ["000", "001", "002"],
    "age": [-3, None, 70],
    "größe": [1.5, 1000.0, None],
    "sex": ["a,b", "two\nlines", None],
    "smoker": [True, None, False],
    "code": [3, None, 1],
    "born": [None, datetime.date(1960, 2, 29), datetime.date(2024, 12, 31)],
    "y": [True, False, True],
}


@pytest.mark.parametrize("form", FORMS)
def test_a_table_is_read_in_this_form(tmp_path: Path, form: str) -> None:
    require_same(form, ("true", "false"), TABLE, tmp_path)


@pytest.mark.heavy
@given(tables())
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
)
def test_a_table_is_the_same_records_in_every_form(
    tmp_path: Path, drawn: tuple[tuple[str, ...], Columns]
) -> None:
    classes, columns = drawn
    for form in FORMS:
        require_same(form, classes, columns, tmp_path)


def require_same(form: str, classes: tuple[str, ...], columns: Columns, folder: Path) -> None:
    data = FORMS[form](TASKS[classes], columns, folder)
    np.testing.assert_array_equal(data.X, expected_codes(columns), err_msg=form)
    assert [classes[label] for label in data.labels()] == [str(value).lower() for value in columns["y"]], form
    assert data.ids == tuple(columns["pid"]), form


def expected_codes(columns: Columns) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return the codes as the task's docstrings define them."""
    nan = float("nan")
    known = WORDS[:-1]
    rows = zip(*(columns[name] for name in ("age", "größe", "sex", "smoker", "code", "born")), strict=True)
    codes = [
        [
            nan if age is None else age,
            nan if height is None else height,
            nan if sex is None else known.index(sex) if sex in known else len(known),
            nan if smoker is None else smoker,
            nan if code is None else code - 1,
            nan if born is None else (born - FIRST).days,
        ]
        for age, height, sex, smoker, code, born in rows
    ]
    return np.array(codes, np.float32)


def test_labels_of_short_floats_are_the_words_that_people_wrote() -> None:
    for kind in (pa.float32(), pa.float16(), pa.float64()):
        values = pa.chunked_array([pa.array(np.array([1.5, 2.25, np.nan], kind.to_pandas_dtype()))])
        assert texts(values).to_pylist() == ["1.5", "2.25", None]
    assert texts(pa.chunked_array([pa.array([1.1, 7.3], pa.float32())])).to_pylist() == ["1.1", "7.3"]
