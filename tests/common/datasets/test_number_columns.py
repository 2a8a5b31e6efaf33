"""How numbers are written is decided by the whole column."""

import numpy as np
import pyarrow as pa
import pytest

from ostraka.common.datasets.number_columns import are_plain_numbers, infer_numbers, read_numbers
from ostraka.common.datasets.reading import Origin
from ostraka.common.datasets.table_files import frame_table
from ostraka.common.datasets.unreadable import TwoReadingsError, UnreadableValuesError
from ostraka.common.task.columns import NumberColumn

NAN = float("nan")


def column(*cells: object) -> pa.ChunkedArray:
    return pa.chunked_array([list(cells)])


@pytest.mark.parametrize(
    ("cells", "numbers", "notation"),
    [
        (("1.5", " 2 ", "+3e2", ".5", "-7."), [1.5, 2, 300, 0.5, -7], ""),
        (("1,5", "2", "3,25"), [1.5, 2, 3.25], "decimal comma"),
        (("1,234", "999", "12,000"), [1234, 999, 12000], "thousands parted by commas"),
        (("1.234.567", "3"), [1234567, 3], "decimal comma and thousands parted by points"),
        (("1.234,5", "3"), [1234.5, 3], "decimal comma and thousands parted by points"),
        (("-1,234.50", "7"), [-1234.5, 7], "thousands parted by commas"),
        (("1 234", "1\u00a0234,5"), [1234, 1234.5], "decimal comma and thousands parted by blanks"),
        (("1'234.5", "1\u2019000"), [1234.5, 1000], "thousands parted by apostrophes"),
        (("0,125", "1,234"), [0.125, 1.234], "decimal comma"),
        (("1.015", "1.020"), [1.015, 1.020], ""),
        (("1234", "1.125"), [1234, 1.125], ""),
        (("007", "12"), [7, 12], ""),
        (("True", "FALSE"), [1, 0], ""),
        (("", "NA", "n/a", "#N/A", "<NA>", "NaN", "null", "4"), [NAN] * 7 + [4], ""),
        ((True, None, False), [1, NAN, 0], ""),
        ((None, None), [NAN, NAN], ""),
    ],
)
def test_a_column_is_read_in_the_notation_that_prints_it(
    cells: tuple[object, ...], numbers: list[float], notation: str
) -> None:
    read = read_numbers(column(*cells))
    np.testing.assert_array_equal(read.values, numbers)
    assert read.note == (f"numbers written with {notation}" if notation else "")


@pytest.mark.parametrize(
    ("cells", "readings"),
    [
        (("1,234", "999"), "'1,234', which has two readings: 1234 or 1.234"),
        (("1,234", "2,345"), "1234 or 1.234"),
        (("1.234", "999"), "1.234 or 1234"),
        (("1.234", "999", "12.000"), "1.234 or 1234"),
        (("4.100", "4", "3.950"), "4.1 or 4100"),
        (("NA", "1,000", "2,000"), "1000 or 1?"),
        (("1,000", "1037", "999"), "1000 or 1?"),
        (("1,234", "1037"), "1234 or 1.234"),
        (("5 %", "6%"), "'5 %', which has two readings: 5, or a hundredth"),
    ],
)
def test_a_column_of_two_readings_is_refused_with_both(cells: tuple[str, ...], readings: str) -> None:
    with pytest.raises(TwoReadingsError, match=readings.replace("?", r"\?")):
        read_numbers(column(*cells))


def test_the_task_decides_between_readings() -> None:
    assert read_numbers(column("1,234", "999"), decimal=".").values.tolist() == [1234, 999]
    assert read_numbers(column("1,234", "999"), decimal=",").values.tolist() == [1.234, 999]
    assert read_numbers(column("5 %", "6.5%"), percent=True).values.tolist() == [5, 6.5]
    assert read_numbers(column("1,000", "1037"), decimal=".").values.tolist() == [1000, 1037]
    with pytest.raises(UnreadableValuesError, match=r"'1\.5' in 1 row .*the decimal mark ',' of the task"):
        read_numbers(column("1.5", "2"), decimal=",")


def test_points_in_a_file_of_semicolons_may_part_thousands() -> None:
    assert read_numbers(column("7.500", "12.300")).values.tolist() == [7.5, 12.3]
    with pytest.raises(TwoReadingsError, match=r"7\.5 or 7500"):
        read_numbers(column("7.500", "12.300"), point_is_decimal=False)
    assert read_numbers(column("1.234", "1037")).values.tolist() == [1.234, 1037]
    with pytest.raises(TwoReadingsError, match=r"1\.234 or 1234"):
        read_numbers(column("1.234", "1037"), point_is_decimal=False)
    assert read_numbers(column("1.234", "9", "12.000"), point_is_decimal=False).values.tolist() == [
        1234,
        9,
        12000,
    ]
    assert read_numbers(column("0.123", "1.234"), point_is_decimal=False).values.tolist() == [0.123, 1.234]


@pytest.mark.parametrize(
    ("cells", "named"),
    [
        (("1_000", "2"), "'1_000' in 1 row from row 0 on, no numbers"),
        (("2", "0x10"), "'0x10' in 1 row from row 1 on"),
        (("inf", "2"), "'inf'"),
        (("1e400", "2"), "no finite number"),
        (("1,23,456", "2"), "'1,23,456'"),
        (("\u0663", "2"), "no numbers"),
        (("1,5", "1.5"), "'1,5' and '1.5', which no one way to write numbers explains"),
        (("5%", "6"), "'6' in 1 row from row 1 on, without the percent sign"),
        ((b"1", b"2"), "type binary, which are not numbers"),
        (([1], [2]), "type list"),
    ],
)
def test_what_is_no_number_is_refused(cells: tuple[object, ...], named: str) -> None:
    with pytest.raises(UnreadableValuesError, match=named.replace("[", r"\[")):
        read_numbers(column(*cells))


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (("1", "", "-20"), pa.int64()),
        (("1.5", "2"), pa.float64()),
        (("1,5", "2"), pa.float64()),
        (("01", "02"), pa.string()),
        (("123456789012345", "1"), pa.int64()),
        (("1234567890123456", "1"), pa.string()),
        (("0x10", "1"), pa.string()),
        (("", "NA"), pa.string()),
        ((1, 2), pa.int64()),
        ((1, 2**53), pa.string()),
    ],
)
def test_text_is_taken_for_numbers_where_printing_brings_it_back(
    cells: tuple[object, ...], kind: pa.DataType
) -> None:
    assert infer_numbers(column(*cells)).type == kind


@pytest.mark.parametrize(
    ("others", "certain"),
    [
        (("36,5", "37,25"), False),
        (("NA", "0,125"), False),
        (("1,234", "2,345"), True),
        (("36,5", "warm"), True),
        (("36.5", "37.2"), True),
    ],
)
def test_a_column_of_decimal_commas_makes_points_doubtful(others: tuple[str, str], certain: bool) -> None:
    table = frame_table(pa.table({"w": ["1.250", "12.500"], "k": others}), Origin("it"))
    assert table.reading.point_is_decimal is certain


@pytest.mark.parametrize(
    ("cells", "told"), [((0.05, 2.0), True), (("0.05", "2"), False), ((5.0, 1.0), False)]
)
def test_parts_of_a_whole_are_told_where_the_unit_is_percent(cells: tuple[object, ...], told: bool) -> None:
    share = NumberColumn(name="w", min=0, max=100, unit="%")
    assert ("0.05 is taken for 0.05 %" in share.read(column(*cells)).note) is told


def test_floats_as_programs_print_them_are_numbers() -> None:
    cells = ["0.37454011884736254", "-0.0024963740129999", "1.2e-05", "0.516941800883299", ""]
    found = infer_numbers(pa.chunked_array([cells]))
    assert found.to_pylist() == [*map(float, cells[:-1]), None]
    assert are_plain_numbers(pa.chunked_array([cells[:-1]])).to_pylist() == [True] * 4
    ids = pa.chunked_array([["12345678901234567", "2"]])
    assert infer_numbers(ids).to_pylist() == ids.to_pylist()
