"""What is to be learned, from tasks and records."""

from pathlib import Path

import numpy as np
import pytest

from ostraka.client.fitting.problems import KnownRecords, categories_of
from ostraka.client.learners.problem import Category
from ostraka.client.run.site import SiteEncoder
from ostraka.common.datasets import from_arrays
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import Task
from ostraka.common.task.input import TableInput, TensorInput

COLUMNS = [
    {"name": "age", "min": 0, "max": 100, "missing": "indicator"},
    {"kind": "category", "name": "sex", "values": ["f", "m"]},
    {"kind": "category", "name": "job", "values": ["a", "b", "c"], "missing": "indicator"},
    {"kind": "category", "name": "one", "values": ["only"]},
]


def table(preprocessing: str = "range", **more: object) -> Task:
    inputs = {"kind": "table", "preprocessing": preprocessing, "columns": COLUMNS}
    outputs = {} if "target" in more else {"classes": ["no", "yes"]}
    return Task.model_validate({"name": "people", "input": inputs} | outputs | more)


def records(tmp_path: Path, *rows: str) -> Path:
    file = tmp_path / "records.csv"
    file.write_text("age,sex,job,one,label\n" + "".join(f"{row}\n" for row in rows))
    return file


def read(task: Task, pool: Path | None, own: Path | None) -> KnownRecords:
    return KnownRecords.read(task, SiteEncoder(), pool, own)


def refused(known: KnownRecords, *, tell_pool: bool) -> OstrakaError:
    with pytest.raises(OstrakaError) as caught:
        known.problem(10, tell_pool=tell_pool)
    return caught.value


def test_indicators_of_a_category_belong_together_with_the_missing_one() -> None:
    assert categories_of(table()) == (Category(2, 2), Category(4, 4))
    image = TensorInput(shape=(2, 2), range=(0, 1))
    assert categories_of(Task(name="i", classes=("a", "b"), input=image)) == ()


def test_what_was_guessed_while_files_were_read_is_told_of_each(tmp_path: Path) -> None:
    file = records(tmp_path, "20,f,a,only,no", "30,m,b,only,", "40,m,,only,yes")
    known = KnownRecords.read(table(), SiteEncoder(), file, file, file)
    read_as = "Read as UTF-8, its cells parted by commas."
    for name in ("The pool", "Own records", "Test records"):
        assert f"{name}: {read_as}" in known.reading
    left_out = [sentence for sentence in known.reading if "Left out: " in sentence]
    assert [sentence.partition(":")[0] for sentence in left_out] == ["Own records", "Test records"]


def test_a_problem_has_what_task_and_records_say(tmp_path: Path) -> None:
    file = records(tmp_path, "20,f,a,only,no", "40,m,,only,yes")
    known = read(table(), file, file)
    problem = known.problem(500, tell_pool=False)
    assert (problem.kind, problem.outputs, problem.features, problem.records) == ("classes", 2, 9, 500)
    assert problem.own is not None
    assert problem.own.y.tolist() == [0, 1]
    assert problem.told_pool is None
    assert known.problem(500, tell_pool=True).told_pool is not None
    assert not problem.image


def test_a_number_is_learned_in_its_range(tmp_path: Path) -> None:
    task = table(target={"kind": "number", "min": 10, "max": 50})
    problem = read(task, None, records(tmp_path, "20,f,a,only,30.5", "40,m,b,only,12")).problem(
        9, tell_pool=True
    )
    assert (problem.kind, problem.outputs, problem.low, problem.high) == ("number", 1, 10, 50)
    assert problem.own is not None
    assert problem.own.y.tolist() == [30.5, 12]


def test_a_target_outside_its_range_is_refused(tmp_path: Path) -> None:
    task = table(target={"kind": "number", "min": 10, "max": 50})
    with pytest.raises(OstrakaError):
        read(task, None, records(tmp_path, "20,f,a,only,99"))


def test_features_on_scales_of_their_own_need_a_pool_that_may_be_told_of(tmp_path: Path) -> None:
    file = records(tmp_path, "20,f,a,only,no", "40,m,b,only,yes")
    error = refused(read(table("none"), None, file), tell_pool=True)
    assert error.code is ErrorCode.CONFIG_INVALID
    assert "preprocessing" in error.message
    known = read(table("none"), file, file)
    assert refused(known, tell_pool=False).code is ErrorCode.CONFIG_INVALID
    known.problem(10, tell_pool=True)


def test_own_records_whose_labels_are_not_all_known_are_left_out() -> None:
    inputs = TableInput.model_validate({"columns": [{"name": "x", "min": 0, "max": 1}]})
    task = Task(name="tags", classes=("a", "b"), multi_label=True, input=inputs)
    own = from_arrays(
        np.array([[0.1], [0.2]]), np.array([[1, 0], [0, 1]]), columns=("x",), classes=("a", "b")
    )
    known = KnownRecords.read(task, SiteEncoder(), None, own)
    assert known.own is not None
    assert known.own.y.tolist() == [[1, 0], [0, 1]]


def test_digests_tell_records_apart(tmp_path: Path) -> None:
    one = read(table(), records(tmp_path, "20,f,a,only,no", "21,f,a,only,yes"), None).digests()
    other = read(table(), records(tmp_path, "20,f,a,only,no", "22,f,a,only,yes"), None).digests()
    assert one["pool_sha256"] != other["pool_sha256"]
    assert one["own_sha256"] == other["own_sha256"] == ""
