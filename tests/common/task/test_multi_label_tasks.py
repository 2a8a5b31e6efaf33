import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from ostraka.common.datasets import Dataset, from_arrays, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import NumberColumn, TableInput, Task, infer_task, load_task, write_task

NAMES = ("cat", "dog", "fox")
INPUT = TableInput(columns=(NumberColumn(name="a", min=0, max=9), NumberColumn(name="b", min=0, max=9)))
ANIMALS = Task(name="animals", classes=NAMES, multi_label=True, input=INPUT)
KINDS = Task(name="kinds", classes=NAMES, input=INPUT)
X = np.arange(8).reshape(4, 2)
Y = np.array([[0, 1, 0], [1, 1, 0], [0, 0, 0], [1, 0, 1]])


def animals(y: Any = Y, **fields: Any) -> Dataset:
    return from_arrays(X, y, columns=("a", "b"), **fields)


def refused(task: Task, data: Dataset, code: ErrorCode, *named: str) -> None:
    with pytest.raises(OstrakaError) as caught:
        task.check(data)
    assert caught.value.code == code
    for part in named:
        assert part in caught.value.message


def test_records_of_the_task_pass() -> None:
    ANIMALS.check(animals())
    ANIMALS.check(animals(classes=NAMES))
    ANIMALS.check(animals(None))
    ANIMALS.check(animals(np.zeros_like(Y)))


@pytest.mark.parametrize(
    ("classes", "named"),
    [
        (("dog", "cat", "fox"), "Class 0 is 'cat' in the task but 'dog' in the data"),
        (("cat", "dog", "cow"), "Class 2 is 'fox' in the task but 'cow' in the data"),
    ],
)
def test_labels_of_other_names_are_named(classes: tuple[str, ...], named: str) -> None:
    refused(ANIMALS, animals(classes=classes), ErrorCode.TASK_MISMATCH, named)


def test_another_number_of_labels_is_told() -> None:
    refused(ANIMALS, animals(Y[:, :2]), ErrorCode.DATA_SHAPE, "2 columns of labels for 3 labels")


def test_a_label_that_is_neither_0_nor_1_is_named() -> None:
    y = Y.copy()
    y[3, 2] = 2
    data = replace(animals(), y=y)
    refused(ANIMALS, data, ErrorCode.DATA_LABEL_RANGE, "2 for label 'fox' in row 3")


def test_labels_of_the_other_kind_are_no_match() -> None:
    refused(ANIMALS, animals(Y[:, 0]), ErrorCode.TASK_MISMATCH, "takes a 0 or 1 for every label")
    refused(KINDS, animals(), ErrorCode.TASK_MISMATCH, "takes one class per record")
    KINDS.check(animals(Y[:, 0]))


@pytest.mark.parametrize("classes", [None, ("cow", "elk"), NAMES])
def test_files_of_the_other_kind_are_no_match(tmp_path: Path, classes: Any) -> None:
    save(animals(Y[:, 0], classes=classes), tmp_path / "one.npz")
    save(animals(Y[:, :2], classes=classes[:2] if classes else None), tmp_path / "several.npz")
    for task, name in ((ANIMALS, "one.npz"), (KINDS, "several.npz")):
        with pytest.raises(OstrakaError) as caught:
            task.load(tmp_path / name)
        assert caught.value.code == ErrorCode.TASK_MISMATCH


def test_tables_of_the_other_kind_are_no_match(tmp_path: Path) -> None:
    one, several = tmp_path / "one.csv", tmp_path / "several.csv"
    one.write_text("a,b,label\n1,2,0\n")
    several.write_text("a,b,cat,dog,fox\n1,2,0,1,1\n")
    for task, path, column in ((ANIMALS, one, "'label'"), (KINDS, several, "'cat'")):
        with pytest.raises(OstrakaError, match=column) as caught:
            task.load(path)
        assert caught.value.code == ErrorCode.TASK_MISMATCH
    assert ANIMALS.load(several).labels().tolist() == [[0, 1, 1]]


def test_a_pool_needs_no_label_columns(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    pool = ANIMALS.load(path)
    assert (len(pool), pool.y) == (2, None)


def test_a_file_with_the_labels_in_another_order_is_read_in_the_tasks(tmp_path: Path) -> None:
    save(animals(Y[:, ::-1], classes=NAMES[::-1]), tmp_path / "data.npz")
    data = ANIMALS.load(tmp_path / "data.npz")
    assert (data.classes, data.labels().tolist()) == (NAMES, Y.tolist())


def test_the_digest_holds_the_kind_of_a_multi_label_task_only() -> None:
    columns = ",".join(f'{{"dtype":"float32","max":9.0,"min":0.0,"name":"{name}"}}' for name in "ab")
    text = (
        f'{{"classes":["cat","dog","fox"],"input":{{"columns":[{columns}],'
        '"kind":"table","preprocessing":"none"},"label":"label",%s"name":"animals"}'
    )
    single = ANIMALS.model_copy(update={"multi_label": False})
    assert ANIMALS.digest == hashlib.sha256((text % '"multi_label":true,').encode()).digest()
    assert Task(**single.model_dump()).digest == hashlib.sha256((text % "").encode()).digest()


def test_the_task_comes_back_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "task.toml"
    write_task(ANIMALS, path)
    assert "multi_label = true" in path.read_text()
    assert (load_task(path), load_task(path).digest) == (ANIMALS, ANIMALS.digest)
    write_task(KINDS, path)
    assert "multi_label" not in path.read_text()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"classes": ("cat",)}, "at least 2"),
        ({"classes": ("cat", "b")}, "column 'b' is both a feature and the label"),
        ({"multi_label": "some"}, "multi_label"),
    ],
)
def test_tasks_that_make_no_sense_are_refused(change: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        Task(**{**ANIMALS.model_dump(), **change})


def test_the_label_column_of_other_tasks_is_free_for_a_feature() -> None:
    assert Task(**{**ANIMALS.model_dump(), "label": "a"}).columns == ("a", "b")


def test_inferred_labels_are_named_by_the_file_or_numbered() -> None:
    named, numbered = infer_task(animals(classes=NAMES), "t"), infer_task(animals(), "t")
    assert (named.classes, named.multi_label) == (NAMES, True)
    assert numbered.classes == ("label0", "label1", "label2")
    assert infer_task(animals(np.zeros_like(Y)), "t", animals()).classes == numbered.classes
    numbered.check(animals())
    assert not infer_task(animals(Y[:, 0]), "t").multi_label


@pytest.mark.parametrize("other", [Y[:, 0], Y[:, :2]])
def test_records_with_other_labels_make_no_task_together(other: Any) -> None:
    with pytest.raises(OstrakaError, match="differ in the number of labels") as caught:
        infer_task(animals(), "t", animals(other))
    assert caught.value.code == ErrorCode.DATA_SHAPE
