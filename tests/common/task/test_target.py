from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ostraka.common.datasets import from_arrays, load_splits
from ostraka.common.datasets.number_format import NumberFormat
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import Task, infer_task, load_task
from ostraka.common.task.findings import Findings
from ostraka.common.task.task import write_task

INPUT: Any = {"kind": "table", "columns": [{"name": "age", "min": 0, "max": 100}]}
RANGE: dict[str, Any] = {"kind": "number", "min": 0, "max": 300}


def wages(**target: Any) -> Task:
    return Task.model_validate({"name": "wages", "label": "wage", "target": RANGE | target, "input": INPUT})


WAGES = wages()


def refused(task: Task, source: Any, code: ErrorCode, said: str) -> None:
    with pytest.raises(OstrakaError) as refusal:
        task.records(source)
    assert refusal.value.code is code
    assert said in refusal.value.message


def write(frame: pd.DataFrame, file: Path) -> Path:
    if file.suffix == ".npz":
        np.savez(file, X=frame[["age"]].to_numpy(), columns=["age"], y=frame["wage"].to_numpy())
    elif file.suffix == ".csv":
        frame.to_csv(file, index=False)
    elif file.suffix == ".parquet":
        frame.to_parquet(file)
    else:
        frame.to_excel(file, index=False)
    return file


def test_a_file_brings_the_task_back_with_its_digest(tmp_path: Path) -> None:
    task = wages(unit="USD", clip=True)
    write_task(task, tmp_path / "task.toml")
    assert load_task(tmp_path / "task.toml") == task
    assert load_task(tmp_path / "task.toml").digest == task.digest != WAGES.digest
    assert "classes" not in (tmp_path / "task.toml").read_text(encoding="utf-8")
    assert (task.outputs, task.classes, task.labels) == (1, (), ("wage",))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "name classes, or a [target]"),
        ({"classes": ("a", "b"), "target": RANGE}, "and not both"),
        ({"multi_label": True, "target": RANGE}, "and not both"),
        ({"target": RANGE | {"max": 0}}, "ranges from 0 to 0"),
        ({"target": RANGE | {"missing": 0}}, "missing"),
    ],
)
def test_a_task_learns_either_classes_or_a_number(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as refusal:
        Task.model_validate({"name": "wages", "label": "wage", "input": INPUT} | fields)
    assert said in str(refusal.value)


@pytest.mark.parametrize("kind", [".csv", ".npz", ".parquet", ".xlsx", ""])
def test_numbers_are_read_alike_and_what_has_none_is_left_out(tmp_path: Path, kind: str) -> None:
    frame = pd.DataFrame({"age": [20.0, 30, 40], "wage": [123.456, np.nan, 1 / 3]})
    data = WAGES.records(write(frame, tmp_path / f"records{kind}") if kind else frame)
    assert data.y is not None
    assert data.y.dtype == np.float64
    assert data.numbers().tolist() == [123.456, 1 / 3]
    assert data.X.ravel().tolist() == [20, 40]
    assert data.reading is not None
    assert "Left out: 1 of 3 records, which have no number" in " ".join(data.reading.sentences())


def test_decimal_commas_and_groups_are_read_as_those_of_features(tmp_path: Path) -> None:
    file = tmp_path / "records.csv"
    file.write_text('age;wage\n20;"1.234,50"\n30;12,25\n', encoding="utf-8")
    task = wages(max=2000)
    assert task.records(file).numbers().tolist() == [1234.5, 12.25]
    file.write_text('age,wage\n20,"1,234"\n', encoding="utf-8")
    refused(task, file, ErrorCode.DATA_AMBIGUOUS, "'wage' has '1,234'")
    assert wages(decimal=",").records(file).numbers().tolist() == [1.234]


def test_percent_is_read_and_told_as_in_features() -> None:
    task = wages(unit="%")
    texts = pd.DataFrame({"age": [20, 30], "wage": ["5 %", "7 %"]})
    assert task.records(texts).numbers().tolist() == [5, 7]
    refused(WAGES, texts, ErrorCode.DATA_AMBIGUOUS, "'5 %'")
    reading = task.records(pd.DataFrame({"age": [20, 30], "wage": [0.05, 0.07]})).reading
    assert reading is not None
    assert "0.05 is taken for 0.05 %" in reading.columns["wage"]


def test_text_is_no_number() -> None:
    frame = pd.DataFrame({"age": [20, 30], "wage": ["12", "high"]})
    refused(WAGES, frame, ErrorCode.DATA_NOT_NUMERIC, "column 'wage' has 'high'")


@pytest.mark.parametrize("wage", [-1, 300.5])
def test_a_number_outside_its_range_is_refused_or_clipped(wage: float) -> None:
    frame = pd.DataFrame({"age": [20, 30], "wage": [10, wage]})
    refused(WAGES, frame, ErrorCode.TASK_MISMATCH, f"Column 'wage' has {wage:g} in row 1")
    data = wages(clip=True).records(frame)
    assert data.numbers().tolist() == [10, np.clip(wage, 0, 300)]
    assert data.reading is not None
    assert "count as its end: 1 of 2" in data.reading.columns["wage"]


@pytest.mark.parametrize("kind", [".csv", ".npz", ""])
def test_numbers_that_may_stand_for_missing_ones_are_told(tmp_path: Path, kind: str) -> None:
    frame = pd.DataFrame({"age": [20.0, 30, 40], "wage": [12.5, -999, 14]})
    source = write(frame, tmp_path / f"records{kind}") if kind else frame
    for task in (wages(min=-1000), wages(clip=True)):
        reading = task.records(source).reading
        assert reading is not None
        assert "has -999, which may stand for a missing value" in reading.columns["wage"]


def test_an_end_of_the_range_is_inside_however_exactly_it_is_stored() -> None:
    frame = pd.DataFrame({"age": [20, 30], "wage": np.array([0.1, 0.3], np.float32)})
    assert len(wages(min=0.1, max=0.3).records(frame)) == 2
    X = np.array([[20.0]])
    refused(
        WAGES,
        from_arrays(X, np.array([1e300]), columns=("age",), numeric=True),
        ErrorCode.TASK_MISMATCH,
        "1e+300",
    )


def test_no_number_at_all_is_refused() -> None:
    frame = pd.DataFrame({"age": [20, 30], "wage": [np.nan, np.nan]})
    refused(WAGES, frame, ErrorCode.DATA_NAN, "has a number to learn")


def test_records_in_memory_may_have_whole_numbers_but_no_classes() -> None:
    X = np.array([[20.0], [30]])
    data = from_arrays(X, np.array([7, 9]), columns=("age",))
    assert WAGES.records(data).numbers().tolist() == [7, 9]
    named = from_arrays(X, np.array([0, 1]), columns=("age",), classes=("low", "high"))
    refused(WAGES, named, ErrorCode.TASK_MISMATCH, "takes a number in 'wage'")
    numbers = from_arrays(X, np.array([0.5, 1]), columns=("age",), numeric=True)
    kinds = Task.model_validate({"name": "kinds", "classes": ("low", "high"), "input": INPUT})
    refused(kinds, numbers, ErrorCode.TASK_MISMATCH, "takes classes but the data have a number")


@pytest.mark.parametrize(
    ("y", "code"),
    [
        (np.array([1.0, np.inf]), ErrorCode.DATA_NOT_NUMERIC),
        (np.array(["1", "2"]), ErrorCode.DATA_NOT_NUMERIC),
        (np.array([[1.0], [2]]), ErrorCode.DATA_SHAPE),
    ],
)
def test_arrays_of_anything_else_are_refused(y: Any, code: ErrorCode) -> None:
    with pytest.raises(OstrakaError) as refusal:
        from_arrays(np.zeros((2, 1)), y, numeric=True)
    assert refusal.value.code is code


def test_a_pool_keeps_records_without_a_number(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [20.0, 30], "wage": [np.nan, 900]})
    for source in (frame, write(frame, tmp_path / "pool.npz"), write(frame, tmp_path / "pool.csv")):
        pool = WAGES.pool(source)
        assert (len(pool), pool.y) == (2, None)


def test_who_needs_classes_is_told_what_learns_numbers() -> None:
    data = WAGES.records(pd.DataFrame({"age": [20], "wage": [10]}))
    for ask in (data.labels, lambda: WAGES.require_classes("a vote")):
        with pytest.raises(OstrakaError, match="ostraka query fit") as refusal:
            ask()
        assert refusal.value.code is ErrorCode.TASK_NUMERIC


def test_a_file_without_a_split_is_split_after_gaps_are_left_out(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": np.arange(10.0), "wage": [np.nan, *np.arange(9)]})
    for kind in (".csv", ".npz"):
        parts = load_splits(write(frame, tmp_path / f"r{kind}"), "wage", target=NumberFormat())
        assert sorted(number for part in parts for number in part.numbers()) == list(range(9))


def test_a_task_is_inferred_of_records_with_numbers() -> None:
    X = np.array([[20.0], [30]])
    data = from_arrays(X, np.array([0.5, 7]), columns=("age",), numeric=True)
    target = infer_task(data, "wages", label="wage").target
    assert target is not None
    assert (target.min, target.max) == (0.5, 7)


def test_a_column_from_which_the_number_can_be_read_is_named() -> None:
    ages = np.random.default_rng(0).uniform(0, 100, 400)
    both = {"kind": "table", "columns": [{"name": n, "min": 0, "max": 100} for n in ("age", "other")]}
    task = Task.model_validate({"name": "t", "label": "wage", "target": RANGE, "input": both})
    told = Findings.of(task, task.records(pd.DataFrame({"age": ages, "other": ages[::-1], "wage": 2 * ages})))
    assert told.telling == ("age",)
