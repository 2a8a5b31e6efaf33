"""Whose records are whose."""

from collections import Counter

import numpy as np
import pytest

from ostraka.common.datasets import Dataset, from_arrays
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import NumberColumn, TableInput, Task
from ostraka.common.task.persons import Persons

INPUT = TableInput(columns=(NumberColumn(name="x", min=0, max=9),))
TASK = Task(name="t", id="pid", persons=True, classes=("a", "b"), input=INPUT)


def records(*ids: str) -> Dataset:
    return from_arrays(np.zeros((len(ids), 1)), columns=("x",)).with_ids(ids)


def test_records_of_one_id_are_of_one_person() -> None:
    persons = Persons.of(TASK, records("b", "a", "b", "c", "a", "b"))
    assert persons is not None
    assert persons.of_record.tolist() == [0, 1, 0, 2, 1, 0]
    assert (len(persons), persons.records.tolist()) == (3, [3, 2, 1])
    assert str(persons) == "3 persons by 'pid', at most 3 records each"
    assert "one record each" in str(Persons.of(TASK, records("b", "a")))
    visits = TASK.model_copy(update={"persons": False})
    assert str(Persons.of(visits, records("b", "a"))) == "2 ids by 'pid', one record each"


def test_a_task_without_an_id_knows_no_persons() -> None:
    assert Persons.of(TASK.model_copy(update={"id": None}), records("a", "a")) is None


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (records("a", "", ""), "2 of 3 records have no 'pid', so nobody knows whose they are"),
        (from_arrays(np.zeros((2, 1))), "have no ids, and the task's id is 'pid'"),
    ],
)
def test_records_of_nobody_are_refused(data: Dataset, said: str) -> None:
    with pytest.raises(OstrakaError, match=said) as refused:
        Persons.of(TASK, data)
    assert refused.value.code is ErrorCode.DATA_MISSING


def test_at_most_so_many_records_of_each_person_are_chosen() -> None:
    ids = [f"p{i % 5}" for i in range(40)] + ["rare"]
    persons = Persons.of(TASK, records(*ids))
    assert persons is not None
    chosen = persons.choose(3, ids)
    counted = dict(Counter(np.array(ids)[chosen].tolist()))
    assert counted == {**{f"p{i}": 3 for i in range(5)}, "rare": 1}
    assert persons.count_within(3) == chosen.sum() == 16
    assert persons.choose(8, ids).all()
    assert len({tuple(np.flatnonzero(chosen[i:40:5])) for i in range(5)}) > 1, "not everybody's first ones"


def test_who_takes_a_person_s_place_changes_nobody_else_s_choice() -> None:
    others = [f"p{i % 5}" for i in range(40)]

    def chosen_beside(*more: str) -> list[bool]:
        ids = [*more, *others]
        persons = Persons.of(TASK, records(*ids))
        assert persons is not None
        chosen: list[bool] = persons.choose(2, ids)[len(more) :].tolist()
        return chosen

    assert chosen_beside("a") == chosen_beside("b", "b", "b") == chosen_beside()
