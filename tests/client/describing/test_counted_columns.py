"""Which columns are counted in which bins, and conditions as people write them."""

import numpy as np
import pytest

from ostraka.client.describing.counted_columns import (
    BINS,
    MAX_COLUMNS,
    MAX_VALUES,
    ask_counts,
    choose_columns,
    read_condition,
)
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sums.questions import LABEL, Condition, Rows
from ostraka.common.task import Task
from ostraka.common.task.input import TensorInput

COLUMNS = [
    {"name": "age", "dtype": "int32", "min": 18, "max": 30, "missing": "indicator"},
    {"name": "weight", "min": 0, "max": 200},
    {"kind": "category", "name": "sex", "values": ["f", "m"]},
    {"kind": "category", "name": "ward", "values": ["ICU", 'the "old"'], "other": True},
    {"kind": "date", "name": "day", "min": "2026-01-01", "max": "2026-12-31"},
    {"kind": "boolean", "name": "smokes"},
]
TASK = Task.model_validate(
    {"name": "people", "classes": ["no", "yes"], "input": {"kind": "table", "columns": COLUMNS}}
)
CODES = np.array([[18, 0.1, 0, 0, 0, 1], [30, 199, 1, 1, 364, 0], [np.nan, 80, 1, 2, 100, 1]], np.float32)
ROWS = Rows(CODES, CODES, np.array([0, 1, 1]))


def counted(name: str, *conditions: str) -> dict[str, float]:
    columns = choose_columns(TASK, [name])
    question = ask_counts(columns, [read_condition(TASK, text) for text in conditions])
    (block,) = question.blocks(ROWS)
    return {
        key: value
        for key, value in zip((*columns[0].values, "missing"), block.tolist(), strict=True)
        if value
    }


def test_values_are_counted_under_their_names() -> None:
    assert counted("age") == {"18": 1, "30": 1, "missing": 1}
    assert counted("sex") == {"f": 1, "m": 2}
    assert counted("label") == {"no": 1, "yes": 2}
    assert counted("weight") == {"0 to 10": 1, "190 to 200": 1, "80 to 90": 1}
    assert counted("ward") == {"ICU": 1, 'the "old"': 1, "other": 1}
    assert counted("smokes") == {"no": 1, "yes": 2}


def test_days_are_counted_by_the_calendar() -> None:
    assert counted("day") == {
        "2026-01-01 to 2026-01-19": 1,
        "2026-04-02 to 2026-04-20": 1,
        "2026-12-13 to 2026-12-31": 1,
    }
    assert str(choose_columns(TASK, ["day"])[0].first_day) == "2026-01-01"


def test_all_columns_of_a_table_are_counted_and_the_label() -> None:
    names = [column.name for column in choose_columns(TASK, ())]
    assert names == ["age", "weight", "sex", "ward", "day", "smokes", "label"]
    assert choose_columns(TASK, ["weight"])[0].counted.bins == BINS
    image = Task(name="i", classes=("a", "b"), input=TensorInput(shape=(2, 2), range=(0, 1)))
    assert [column.name for column in choose_columns(image, ())] == ["label"]


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ("age>=30", [1]),
        ("age > 18", [1]),
        ("age<30", [0]),
        ("weight<=0.1", [0]),
        ("weight<0.1", []),
        ("weight>0.1", [1, 2]),
        ("sex = m", [1, 2]),
        ("label=yes", [1, 2]),
        ('label="yes"', [1, 2]),
        ("ward=other", [2]),
        ("ward='ICU'", [0]),
        ('ward=the "old"', [1]),
        ('ward="the "old""', [1]),
        ("day>=2026-12-31", [1]),
    ],
)
def test_conditions_mean_what_they_say(text: str, records: list[int]) -> None:
    condition = read_condition(TASK, text)
    values = ROWS.y if condition.column == LABEL else CODES[:, condition.column]
    met = (values >= condition.low) & (values <= condition.high)
    assert np.flatnonzero(met).tolist() == records
    assert sum(counted("sex", text).values()) == len(records)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("age", "not a condition"),
        ("height>=3", "no column 'height'"),
        ("sex=x", "'x' is not a value of column 'sex': it has f, m"),
        ("ward=icu", "'icu' is not a value of column 'ward': it has ICU, the"),
        ("age>=old", "'old' is not a value of column 'age'"),
        ("label=maybe", "no value 'maybe'"),
    ],
)
def test_a_condition_that_says_nothing_is_refused(text: str, named: str) -> None:
    with pytest.raises(OstrakaError) as refused:
        read_condition(TASK, text)
    assert refused.value.code is ErrorCode.CONFIG_INVALID
    assert named in refused.value.message


def test_unknown_and_repeated_columns_are_refused() -> None:
    for names in (["height"], ["age", "age"]):
        with pytest.raises(OstrakaError) as refused:
            choose_columns(TASK, names)
        assert refused.value.code is ErrorCode.CONFIG_INVALID


def test_a_number_as_target_is_counted_and_compared() -> None:
    target = {"kind": "number", "min": 0, "max": 40}
    task = Task.model_validate(
        {"name": "pay", "label": "wage", "target": target, "input": {"kind": "table", "columns": COLUMNS}}
    )
    assert choose_columns(task, ["wage"])[0].values[0] == "0 to 2"
    assert read_condition(task, "wage<=10") == Condition(LABEL, 0.0, 10.0)
    with pytest.raises(OstrakaError):
        read_condition(task, "wage<=much")


def test_bins_of_whole_numbers_are_named_by_those_that_they_hold() -> None:
    column = {"name": "age", "dtype": "int32", "min": 0, "max": 120}
    task = Task.model_validate(
        {"name": "old", "classes": ["no", "yes"], "input": {"kind": "table", "columns": [column]}}
    )
    (age,) = choose_columns(task, ["age"])
    values = np.arange(121)
    places = age.counted.places(values.astype(np.float64))
    for place, name in enumerate(age.values):
        inside = values[places == place]
        assert name == f"{inside[0]} to {inside[-1]}"
        assert (age.ends[0][place], age.ends[1][place]) == (inside[0], inside[-1])


def test_many_whole_values_are_put_into_bins_and_many_columns_are_refused() -> None:
    columns = [{"name": f"x{place}", "dtype": "int32", "min": 0, "max": MAX_VALUES} for place in range(65)]
    task = Task.model_validate(
        {"name": "wide", "classes": ["no", "yes"], "input": {"kind": "table", "columns": columns}}
    )
    assert choose_columns(task, ["x0"])[0].counted.bins == BINS
    names = [f"x{place}" for place in range(MAX_COLUMNS)]
    assert len(choose_columns(task, names)) == MAX_COLUMNS
    with pytest.raises(OstrakaError):
        choose_columns(task, [*names, "x64"])
