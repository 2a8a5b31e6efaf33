"""Days of a calendar, where they were written."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from ostraka.common.datasets.date_columns import EPOCH, read_days
from ostraka.common.datasets.unreadable import TwoReadingsError, UnreadableValuesError

RANGE = (datetime.date(1950, 1, 1), datetime.date(2040, 12, 31))


def days(values: pa.Array, form: str | None = None) -> list[str]:
    found = read_days(pa.chunked_array([values]), form)
    return ["" if np.isnan(day) else str(EPOCH + datetime.timedelta(days=int(day))) for day in found]


@pytest.mark.parametrize(
    ("cells", "form", "expected"),
    [
        (["2024-02-29", "", "2024-12-31 23:59"], None, ["2024-02-29", "", "2024-12-31"]),
        (["2024-01-01T08:00:00+09:00", "2024-01-01 23:30:00.5Z"], None, ["2024-01-01"] * 2),
        (["1.2.2021", "31.12.2020"], "%d.%m.%Y", ["2021-02-01", "2020-12-31"]),
        (["20210111"], "%Y%m%d", ["2021-01-11"]),
        (["2020 366", "2021 1"], "%Y %j", ["2020-12-31", "2021-01-01"]),
        (["2020-W53-1"], "%G-W%V-%u", ["2020-12-28"]),
        (["Tue 5.1.2021", "wed 06.01.2021"], "%a %d.%m.%Y", ["2021-01-05", "2021-01-06"]),
        (["01jan2021"], "%d%b%Y", ["2021-01-01"]),
        ([20210111, None], "%Y%m%d", ["2021-01-11", ""]),
        ([20210111.0, None], "%Y%m%d", ["2021-01-11", ""]),
        (["20210111.0", ""], "%Y%m%d", ["2021-01-11", ""]),
    ],
)
def test_text_is_a_day_as_it_is_written(cells: list[object], form: str | None, expected: list[str]) -> None:
    assert days(pa.array(cells), form) == expected


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_a_time_with_a_zone_is_the_day_there(zone: str) -> None:
    written = pa.array([datetime.datetime(2024, 1, 1, 8), datetime.datetime(2024, 6, 1, 23, 30)])
    there = pa.compute.assume_timezone(written, zone)
    assert days(there) == days(written) == ["2024-01-01", "2024-06-01"]


def test_half_a_second_before_1970_is_a_day_before() -> None:
    assert days(pa.array([-500_000], pa.timestamp("us"))) == ["1969-12-31"]


@pytest.mark.parametrize(
    ("cell", "form"),
    [
        ("2021-02-30", None),
        ("2021-2-3", None),
        ("2024-01-01 25:00", None),
        ("2024-01-01 or so", None),
        ("03/04/2021", None),
        ("31.02.2021", "%d.%m.%Y"),
        ("07.01.21", "%d.%m.%Y"),
        ("2021111", "%Y%m%d"),
        ("20210111.5", "%Y%m%d"),
        ("12/31/2020", "%d/%m/%Y"),
        ("2021 366", "%Y %j"),
        ("2021-W53-1", "%G-W%V-%u"),
        ("Mon 05.01.2021", "%a %d.%m.%Y"),
        ("2021-06-01 1", "%Y-%m-%d %w"),
    ],
)
def test_what_is_no_day_is_refused(cell: str, form: str | None) -> None:
    with pytest.raises(UnreadableValuesError, match=f"'{cell}' in 1 row from row 1 on, no dates"):
        days(pa.array(["", cell]), form)


def test_numbers_are_no_days_without_a_form() -> None:
    with pytest.raises(UnreadableValuesError, match="type int64, which are not dates: programs count"):
        days(pa.array([20210111]))
    with pytest.raises(UnreadableValuesError, match="no dates such as 2026-12-31: programs count"):
        days(pa.array(["2021-01-11", "44207"]))


def test_a_year_of_two_digits_is_of_the_century_of_the_range() -> None:
    values = pa.chunked_array([["07.01.45", "07.01.21"]])
    narrow = (datetime.date(1940, 1, 1), datetime.date(2030, 1, 1))
    found = read_days(values, "%d.%m.%y", narrow)
    assert found.tolist() == [(datetime.date(year, 1, 7) - EPOCH).days for year in (1945, 2021)]
    locale = pa.chunked_array([["01/07/45", "01/07/21"]])
    assert read_days(locale, "%x", narrow).tolist() == found.tolist()
    with pytest.raises(TwoReadingsError, match="1921-01-07 or 2021-01-07"):
        read_days(values, "%d.%m.%y", (datetime.date(1900, 1, 1), RANGE[1]))
    recent = (datetime.date(2010, 1, 1), datetime.date(2030, 1, 1))
    assert read_days(values, "%d.%m.%y", recent)[0] == (datetime.date(2045, 1, 7) - EPOCH).days
    with pytest.raises(TwoReadingsError, match="1945-01-07 or 2045-01-07 or 2145-01-07"):
        read_days(values, "%d.%m.%y", recent, clips=True)


@pytest.mark.parametrize("cells", [[2021.1, 2021.02], ["2021.1", "2021.02", ""], [2021.1, None]])
def test_a_month_that_may_lack_its_zero_is_refused(cells: list[object]) -> None:
    with pytest.raises(TwoReadingsError, match=r"'2021\.1' in 1 row from row 0 on, .* or 2021\.10 without"):
        days(pa.array(cells), "%Y.%m")


def test_months_that_lack_no_zero_are_read() -> None:
    assert days(pa.array([2021.02, 2021.11]), "%Y.%m") == ["2021-02-01", "2021-11-01"]
    assert days(pa.array(["2021.1", "2021.10"]), "%Y.%m") == ["2021-01-01", "2021-10-01"]
