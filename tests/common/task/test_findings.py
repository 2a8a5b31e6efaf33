"""What records that fit their task say too little or too much with."""

import numpy as np
import pytest

from ostraka.common.datasets import Dataset, from_arrays
from ostraka.common.task import NumberColumn, TableInput, Task, TensorInput
from ostraka.common.task.findings import MAX_LOOKED_AT, MIN_LOOKED_AT, Findings

NAMES = ("same", "gap", "copy", "shifted", "noise")


def task(**more: object) -> Task:
    columns = tuple(NumberColumn(name=name, min=-10, max=10, missing=0) for name in NAMES)
    return Task.model_validate(
        {"name": "t", "classes": ["a", "b"], "input": TableInput(columns=columns)} | more
    )


def records(count: int = 200) -> Dataset:
    """Of class b is a tenth; `copy` is the class, `shifted` a number that is large for b alone."""
    random = np.random.default_rng(0)
    y = (np.arange(count) % 10 == 0).astype(np.int64)
    gap = np.where(np.arange(count) % 3, 1.0, np.nan)
    X = np.stack([np.ones(count), gap, y, random.random(count) + 5 * y, random.random(count)], axis=1)
    return from_arrays(X, y, columns=NAMES, incomplete=True)


def test_columns_that_are_constant_or_nearly_the_label_are_named() -> None:
    found = Findings.of(task(), records())
    assert found.constant == ("same",)
    assert found.telling == ("copy", "shifted")
    said = " ".join(found.sentences())
    assert "One value only, which says nothing: same." in said
    assert "Nearly the label: copy, shifted." in said


def test_what_a_few_records_show_by_chance_is_not_told() -> None:
    assert Findings.of(task(), records(MIN_LOOKED_AT - 1)).telling == ()
    assert Findings.of(task(), records(MIN_LOOKED_AT)).telling == ("copy",)


def test_many_records_are_looked_at_here_and_there() -> None:
    assert Findings.of(task(), records(MAX_LOOKED_AT + 1_000)).telling == ("copy", "shifted")


def test_of_several_labels_each_is_held_against_the_columns() -> None:
    data = records()
    y = np.stack([data.labels(), np.where(np.arange(200) % 2, 1, -1)], axis=1)
    several = Dataset(data.columns, data.X, y, ("a", "b"))
    assert Findings.of(task(multi_label=True), several).telling == ("copy (of a)", "shifted (of a)")


def test_ids_that_look_alike_are_told() -> None:
    ids = ["p1", "P1 ", "007", "7", "x\u00a0y", "x  y", *(f"q{row}" for row in range(194))]
    found = Findings.of(task(id="pid", persons=True), records().with_ids(ids))
    assert found.alike == ("'p1', 'P1 '", "'007', '7'", r"'x\xa0y', 'x  y'")
    assert any(
        told.startswith("Ids that look alike, and count as several: 'p1'") for told in found.sentences()
    )


def test_persons_are_counted() -> None:
    data = records().with_ids([f"p{row // 2}" for row in range(200)])
    found = Findings.of(task(id="pid", persons=True), data)
    assert "They are of 100 persons by 'pid', at most 2 records each." in tuple(found.sentences())
    assert (found.summary()["persons"], found.summary()["most_records_of_a_person"]) == (100, 2)
    visits = Findings.of(task(id="pid"), data)
    assert "They are of 100 ids by 'pid', at most 2 records each." in tuple(visits.sentences())
    assert (visits.summary()["persons"], visits.summary()["most_records_of_a_person"]) == (None, None)


@pytest.mark.parametrize("unlabelled", [True, False])
def test_arrays_and_unlabelled_records_have_no_such_columns(unlabelled: bool) -> None:
    data = records()
    if unlabelled:
        pool = Dataset(data.columns, data.X)
        assert Findings.of(task(), pool).telling == ()
    else:
        images = Task(name="i", classes=("a", "b"), input=TensorInput(shape=(5,), range=(-10, 10)))
        assert Findings.of(images, data) == Findings((), (), None)


def test_a_label_that_is_always_the_same_is_named() -> None:
    data = records()
    always = Dataset(data.columns, data.X, np.ones(200, np.int64), ("a", "b"))
    assert Findings.of(task(), always).constant == ("same", "label (the label)")
    y = np.stack([data.labels(), np.zeros(200, np.int64)], axis=1)
    several = Dataset(data.columns, data.X, y, ("a", "b"))
    assert Findings.of(task(multi_label=True), several).constant == ("same", "b (the label)")
    shaped = Task(name="t", classes=("a", "b"), input=TensorInput(shape=(5,), dtype="float32", range=(-9, 9)))
    assert Findings.of(shaped, always).constant == ("label (the label)",)
