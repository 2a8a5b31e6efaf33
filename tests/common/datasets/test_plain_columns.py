"""Columns of any type of Arrow become few, plain ones."""

import datetime
import json

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ostraka.common.datasets.date_columns import EPOCH, read_days
from ostraka.common.datasets.plain_columns import plain_table
from ostraka.common.errors import ErrorCode, OstrakaError

WORDS = pa.array(["p", "q", "p"])


@pytest.mark.parametrize(
    "column",
    [
        WORDS,
        WORDS.cast(pa.large_string()),
        WORDS.cast(pa.string_view()),
        WORDS.dictionary_encode(),
        pa.DictionaryArray.from_arrays([0, 1, 0], pa.array(["p", "q"]).cast(pa.string_view())),
        pa.DictionaryArray.from_arrays([0, 1, 0], pa.array(["p", "q"]).cast(pa.large_string())),
        pa.ExtensionArray.from_storage(pa.json_(pa.large_string()), WORDS.cast(pa.large_string())),
    ],
)
def test_text_of_any_type_is_text(column: pa.Array) -> None:
    table, left_out = plain_table(pa.table({"w": column}), "it")
    assert table["w"].type == pa.string()
    assert table["w"].to_pylist() == ["p", "q", "p"]
    assert left_out == ()


def test_truth_values_of_eight_bits_are_truth_values() -> None:
    stored = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None], pa.int8()))
    assert plain_table(pa.table({"w": stored}), "it")[0]["w"].to_pylist() == [True, False, None]


def test_categories_of_polars_are_text() -> None:
    frame = pl.DataFrame({"c": pl.Series(["p", None], dtype=pl.Categorical)}).with_columns(
        e=pl.Series(["q", "p"], dtype=pl.Enum(["p", "q"]))
    )
    assert plain_table(frame, "it")[0].to_pydict() == {"c": ["p", None], "e": ["q", "p"]}


def test_the_index_of_pandas_is_no_column_unless_it_has_a_name() -> None:
    frame = pd.DataFrame({"w": [1, 2]}, index=[5, 3])
    table, left_out = plain_table(frame, "it")
    assert table.column_names == ["w"]
    assert left_out == ("the row numbers that pandas calls the index",)
    assert plain_table(frame.rename_axis("id"), "it")[0].column_names == ["w", "id"]
    for notes in (b"no JSON", b"[]", json.dumps({"columns": []}).encode()):
        odd = pa.table({"__index_level_0__": [1]}).replace_schema_metadata({b"pandas": notes})
        assert plain_table(odd, "it")[0].column_names == ["__index_level_0__"]


@pytest.mark.parametrize(
    ("frame", "code", "named"),
    [
        (pd.DataFrame({"w": [1, "x"]}), ErrorCode.DATA_UNREADABLE, "several kinds, .* in column 'w'"),
        (pd.DataFrame([[1, 2]], columns=["w", "w"]), ErrorCode.DATA_SHAPE, "two columns of one name"),
        (pa.table([[1], [2]], names=["w", " w"]), ErrorCode.DATA_SHAPE, "two columns 'w', columns 1 and 2"),
        (pl.LazyFrame({"w": [1]}), ErrorCode.DATA_UNREADABLE, r"lazy frame .* what its collect\(\) returns"),
        (pl.DataFrame({"w": pl.Series([1], dtype=pl.Int128)}), ErrorCode.DATA_UNREADABLE, "such as Int128"),
        (None, ErrorCode.DATA_UNREADABLE, "it is not a table: give one of pyarrow, pandas or polars"),
    ],
)
def test_what_is_no_table_is_refused(frame: object, code: ErrorCode, named: str) -> None:
    with pytest.raises(OstrakaError, match=named) as caught:
        plain_table(frame, "it")  # type: ignore[arg-type]
    assert caught.value.code is code


def test_times_of_several_zones_are_the_days_where_they_were_written() -> None:
    written = ["2021-01-01T00:30:00+01:00", "2021-07-01T00:30:00+02:00"]
    times = [datetime.datetime.fromisoformat(text) for text in written]
    frame = pd.DataFrame({"day": pd.Series([*times, None, pd.NaT], dtype=object), "word": list("abcd")})
    table, _ = plain_table(frame, "it")
    assert table["day"].to_pylist() == ["2021-01-01 00:30:00+01:00", "2021-07-01 00:30:00+02:00", None, None]
    assert frame["day"][0] == times[0]
    found = read_days(table["day"], None)[:2] + EPOCH.toordinal()
    assert [str(datetime.date.fromordinal(int(day))) for day in found] == ["2021-01-01", "2021-07-01"]
    one, _ = plain_table(frame[:1], "it")
    assert pa.types.is_timestamp(one["day"].type)
