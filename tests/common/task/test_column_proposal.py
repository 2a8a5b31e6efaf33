"""What single columns of a table are taken for."""

import datetime
from typing import Any

import pyarrow as pa
import pytest

from ostraka.common.task.column_proposal import propose_column

TOLD_APART = [f"free {row}" for row in range(50)]


@pytest.mark.parametrize(
    ("values", "use", "fields", "note"),
    [
        ([1, 2, None], "feature", {"dtype": "int32", "missing": "indicator"}, ""),
        ([1.5, 1.5], "feature", {"dtype": "float32"}, "one value only"),
        ([2.0**24, 1], "feature", {"dtype": "int32"}, ""),
        ([2.0**24 + 2, 1], "feature", {"dtype": "float32"}, ""),
        ([2.0**25, 1], "feature", {"dtype": "float32"}, ""),
        ([True, None], "feature", {"kind": "boolean", "missing": "indicator"}, ""),
        (["Yes", "no"], "feature", {"kind": "boolean"}, ""),
        ([20210228, 20211231], "feature", {"kind": "date", "format": "%Y%m%d"}, ""),
        ([20210201 + day for day in range(30)], "ignore", {}, "20210229"),
        (["20210230", *["20210228"] * 10], "ignore", {}, "'20210230' in 1 row"),
        ([20210228, 74101010], "feature", {"dtype": "float32"}, ""),
        ([5, 7, -999], "feature", {"dtype": "int32"}, "has -999, which may stand for a missing value"),
        ([5, -7, -9], "feature", {"dtype": "int32"}, ""),
        (["2021-01-01", "9999-12-31"], "feature", {"kind": "date"}, "has 9999-12-31, which may stand"),
        (
            ["1970-01-01", "2021-01-01", "1900-01-01"],
            "feature",
            {"kind": "date"},
            "has 1900-01-01, 1970-01-01",
        ),
        (
            ["1899-12-30", "2021-01-01", "0001-01-01", "9999-12-31"],
            "feature",
            {"kind": "date"},
            "has 0001-01-01, 1899-12-30, 9999-12-31",
        ),
        ([5, 7, 8888], "feature", {"dtype": "int32"}, "has 8888, which may stand for a missing value"),
        ([5, 7, -88, 99], "feature", {"dtype": "int32"}, "has -88, 99, which may stand"),
        ([1_600_000_000, 1_700_000_000], "feature", {"dtype": "float32"}, "may be seconds since 1970"),
        ([1.6e12, 1.7e12], "feature", {"dtype": "float32"}, "may be milliseconds since 1970"),
        ([2**25 + 1, 2**25], "feature", {"dtype": "float32"}, "than are kept: 2 different ones become 1"),
        (["1.00", "0.00"], "feature", {"kind": "boolean"}, ""),
        (["31-12-2020", "01-02-2021"], "feature", {"kind": "date", "format": "%d-%m-%Y"}, ""),
        (["03-12-2020", "01-02-2021"], "feature", {"kind": "date", "format": "%d-%m-%Y"}, "and %m-%d-%Y"),
        (["1_000", "999"] * 9, "ignore", {}, "numbers with underscores"),
        (["5", "7", "?"] * 5, "feature", {"kind": "category", "values": ["5", "7", "?"]}, "has '?' in 5 rec"),
        (
            [*map(str, range(60)), *["-"] * 20],
            "ignore",
            {},
            "'-' in 20 records; without it the column is num",
        ),
        (["5", "01067"] * 5, "feature", {"kind": "category", "values": ["01067", "5"]}, ""),
        (["Ja", "nein"], "feature", {"kind": "boolean"}, ""),
        (["y", "n", "f"] * 5, "feature", {"kind": "category", "values": ["f", "n", "y"]}, ""),
        (["T", "N"] * 5, "feature", {"kind": "category", "values": ["N", "T"]}, ""),
        ([datetime.date(2020, 1, 1)], "feature", {"kind": "date"}, "one value only"),
        (["31.12.2020", "01.02.2021"], "feature", {"kind": "date", "format": "%d.%m.%Y"}, ""),
        (["12/31/2020", "01/02/2021"], "feature", {"kind": "date", "format": "%m/%d/%Y"}, ""),
        (["a", "b"] * 5, "feature", {"kind": "category", "values": ["a", "b"]}, ""),
        ([*map(str, range(19)), "<0.6"], "feature", {"dtype": "int32"}, "'<0.6'"),
        ([*map(str, range(18)), "<0.6", "<0.7"], "ignore", {}, "is numbers but for '<0.6' and more in 2"),
        ([f"{row} kg" for row in range(20)], "ignore", {}, "has text such as '0 kg': if it is a number"),
        ([f"${row}.50" for row in range(20)], "ignore", {}, "has text such as '$0.50': if it is a number"),
        (["١", "٢"] * 10 + ["٣"] * 3, "feature", {"kind": "category", "values": ["١", "٢", "٣"]}, ""),
        ([f"١{row}" for row in range(20)], "ignore", {}, "digits of another script, as in '١0'"),
        (
            [f"{row + 1}. März 2021" for row in range(20)],
            "ignore",
            {},
            "has text such as '1. März 2021': if it is a day",
        ),
        (
            [f"{row + 1:02}.01.2021 23:59" for row in range(20)],
            "feature",
            {"kind": "date", "format": "%d.%m.%Y %H:%M"},
            "",
        ),
        (
            ["01/02/2021 08:00:30", "02/01/2021 08:00:00"],
            "feature",
            {"kind": "date", "format": "%d/%m/%Y %H:%M:%S"},
            "fit %d/%m/%Y %H:%M:%S and %m/%d/%Y %H:%M:%S",
        ),
        (["01JAN2021", "31DEC2021"], "feature", {"kind": "date", "format": "%d%b%Y"}, ""),
        (["31FEB2021", "31DEC2021"], "ignore", {}, "'31FEB2021' in 1 row"),
        ([f"free {row}" for row in range(20)], "ignore", {}, "differs in every record"),
        ([str(2**63 + row) for row in range(20)], "ignore", {}, "differs in every record"),
        ([f"free {row}" for row in range(19)], "ignore", {}, "is text with 19 different values"),
        ([f"free {row}" for row in range(51)] * 3, "ignore", {}, "is text with 51 different values"),
        (TOLD_APART * 3, "feature", {"kind": "category", "values": sorted(TOLD_APART)}, ""),
        ([[1], [2]], "ignore", {}, "list"),
        ([None, None], "ignore", {}, "is empty"),
        (["", "NA"], "ignore", {}, "is empty"),
    ],
)
def test_columns_are_told_by_their_values(
    values: list[Any], use: str, fields: dict[str, Any], note: str
) -> None:
    proposal = propose_column("x", pa.chunked_array([values]), public=True)
    told = {**proposal.fields, **proposal.found}
    assert proposal.use == use
    assert {name: value for name, value in told.items() if name not in ("min", "max")} == fields
    assert note in proposal.note


@pytest.mark.parametrize(
    ("values", "note"),
    [
        (["0.5", "1,5", "2.5", "3,5"] * 5, "such as '0.5', '1,5': if it is a number"),
        (["5 mg", "0.007 g"] * 5, "such as '5 mg', '0.007 g': if it is a number"),
        (["<5", "7", ">9"] * 5, "such as '<5', '7': if it is a number"),
        (["5*", "7", "9"] * 5, "is numbers but for '5*'"),
        (["2021-01-31", "31.01.2021"] * 5, "'31.01.2021': if it is a day, write all as"),
        (["2021-01-31", "44227"] * 5, "such as '2021-01-31', '44227': if it is a day"),
        (["1/2/2021 1 PM", "3/4/2021 2 AM"] * 5, "such as '1/2/2021 1 PM': if it is"),
        (["1-Mar", "2-4"] * 5, "has '1-Mar' in 5 records, which spreadsheets make"),
        (["TP53", "Sep 2"] * 5, "has 'Sep 2' in 5 records, which spreadsheets make"),
        (["Okt 19", "b"] * 5, "has 'Okt 19' in 5 records, which spreadsheets make"),
        (["1/2", "3/4"] * 5, "has text such as '1/2', which is not read as numbers"),
        (["0-9", "10-20", "80+"] * 5, "such as '0-9', '80+', which is not read as numbers"),
        (["120/80", "95.5/60"] * 5, "which is not read as numbers"),
        (["1949-02", "1949-11"] * 5, "which is not read as numbers or days"),
        (["08:30", "09:15:00"] * 5, "which is not read as numbers"),
        (["0x1F", "0xff"] * 5, "which is not read as numbers"),
        (["f", "F", "m"] * 5, "has 'F', 'f', which look alike"),
        (["yes", "no", "1"] * 5, "'1', 'no', 'yes': if they say yes and no"),
    ],
)
def test_categories_that_may_be_something_else_are_told(values: list[str], note: str) -> None:
    proposal = propose_column("x", pa.chunked_array([values]), public=True)
    assert proposal.fields == {"kind": "category", "values": sorted(set(values))}
    assert note in proposal.note


@pytest.mark.parametrize(
    "values",
    [
        ["1970-01-01", "1960-01-01"],
        ["1970-01-01", "1970-09-01", "1972-01-01"],
        ["1970-01-01", "1973-01-01", "1979-01-01"],
        [60, 70, 99],
        [1.6e9, 1.0],
        [10_000_000_001, 12_345_678_912],
        [2**25, 2**25 + 1, *range(500)],
        ["Jan-20", "Feb-21"] * 5,
        ["May 2020", "Jun 2020"] * 5,
        ["A-1", "B-2"] * 5,
    ],
)
def test_ordinary_values_are_not_noted(values: list[Any]) -> None:
    proposal = propose_column("x", pa.chunked_array([values]), public=True)
    assert (proposal.use, proposal.note) == ("feature", "")


@pytest.mark.parametrize(("more", "told"), [([], False), (["8"], True)])
def test_what_is_half_words_is_no_column_of_numbers(more: list[str], told: bool) -> None:
    values = pa.chunked_array([["5", "7", "a", "b", *more] * 5])
    assert ("is numbers but for 'a'" in propose_column("x", values, public=True).note) is told


def test_a_value_that_too_few_records_hold_is_not_told() -> None:
    held = pa.chunked_array([["nine"] * 9 + ["ten"] * 10 + ["more"] * 20])
    assert propose_column("x", held, public=False).fields["values"] == ["more", "ten"]
    rare = propose_column("x", pa.chunked_array([["nine"] * 9 + ["eight"] * 8]), public=False)
    assert (rare.use, rare.note) == ("ignore", "has no value that 10 records hold")


def test_whole_numbers_that_all_differ_are_ids_by_their_name() -> None:
    values = pa.chunked_array([list(range(30))])
    assert propose_column("caseID", values, public=True).use == "id"
    assert propose_column("humid", values, public=True).use == "feature"


@pytest.mark.parametrize(
    ("name", "first", "told"),
    [("admission_date", 44197, True), ("Datum", 44197, True), ("price", 44197, False), ("date", 2021, False)],
)
def test_days_as_spreadsheets_count_them_are_told(name: str, first: int, told: bool) -> None:
    column = pa.chunked_array([[first + row % 7 for row in range(40)]])
    assert ("as spreadsheets count them" in propose_column(name, column, public=False).note) is told
