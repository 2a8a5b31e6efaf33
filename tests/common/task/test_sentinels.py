"""Values that may stand for missing ones, and values beyond a range that is clipped, are told."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from ostraka.common.task import DateColumn, NumberColumn, TableInput, Task
from ostraka.common.task.sentinels import MIN_KNOWN, find_sentinels, note_unit
from ostraka.common.task.target import NumberTarget


@pytest.mark.parametrize(
    ("numbers", "found"),
    [
        ([5, -999, 7, np.nan, -9], (-999, -9)),
        ([5, 9999], (9999,)),
        ([5, -9, -1], ()),
        ([2.5, -999, -1.5], (-999,)),
        ([500, 999], ()),
        ([-9, -9], ()),
        ([np.nan], ()),
    ],
)
def test_numbers_far_from_all_others_stand_for_missing_ones(
    numbers: list[float], found: tuple[float, ...]
) -> None:
    assert find_sentinels(np.array(numbers, float)) == found


def test_a_reading_tells_what_was_clipped_and_what_may_be_missing() -> None:
    columns = (
        NumberColumn(name="crp", min=0, max=50, clip=True),
        NumberColumn(name="age", min=-10, max=99, clip=True),
        DateColumn(name="died", min=datetime.date(2000, 1, 1), max=datetime.date(2030, 1, 1), clip=True),
    )
    task = Task(name="t", label="y", classes=("a", "b"), input=TableInput(columns=columns))
    crp = [-999.0] * 5 + [7.5] * 14 + [60.0]
    died = [datetime.date(9999, 12, 31), datetime.date(1900, 1, 1), *[datetime.date(2020, 1, 1)] * 18]
    data = task.read(pa.table({"crp": crp, "age": [-1, *[60] * 19], "died": died, "y": ["a", "b"] * 10}))
    assert data.reading is not None
    missing = "which may stand for a missing value: leave it empty there"
    assert data.reading.columns == {
        "crp": f"values beyond its range that count as its end: 6 of 20; has -999, {missing}",
        "died": "values beyond its range that count as its end: 2 of 20; has 1900-01-01, 9999-12-31,"
        f" {missing}",
    }
    assert data.X[0, 0] == 0


GLUCOSE = np.linspace(3.5, 11, MIN_KNOWN)


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        (GLUCOSE, True),
        (np.append(GLUCOSE, np.nan), True),
        (18 * GLUCOSE, False),
        (np.round(GLUCOSE), False),
        (GLUCOSE[1:], False),
        (np.full(MIN_KNOWN, 5.5), False),
    ],
)
def test_numbers_that_take_little_of_their_range_may_be_in_another_unit(
    numbers: np.ndarray[tuple[int], np.dtype[np.float64]], told: bool
) -> None:
    column = NumberColumn(name="glucose", min=0, max=600, unit="mg/dl")
    note = "has values from 3.5 to 11 alone, where 0 to 600 mg/dl can occur: check their unit"
    assert note_unit(numbers, column) == note * told
    target = NumberTarget(kind="number", min=0, max=600)
    records = pa.table({"glucose": numbers, "y": numbers + 1})
    data = Task(name="t", label="y", target=target, input=TableInput(columns=(column,))).read(
        records.filter(pa.array(~np.isnan(numbers)))
    )
    assert data.reading is not None
    assert list(data.reading.columns) == ["glucose", "y"] * told
