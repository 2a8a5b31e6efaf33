"""Labels that a site's records know nothing of: their column may be absent, or hold anything."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostraka.common.datasets import load
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import infer_task, load_task, write_task

X = np.arange(8.0).reshape(4, 2)
Y = np.array([[0, 1, 0], [1, 1, 0], [0, 0, 0], [1, 0, 1]])
NAMES = ("cat", "dog", "fox")
WITHOUT_DOG = [[0, 0, 0], [1, 0, 0], [0, 0, 0], [1, 0, 1]]


def npz(folder: Path, **stored: Any) -> Path:
    path = folder / "data.npz"
    np.savez(path, X=X, **stored)
    return path


def csv(folder: Path, text: str) -> Path:
    path = folder / "data.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "stored",
    [
        {"y": Y},
        {"y": Y, "classes": NAMES},
        {"y": Y[:, [2, 1, 0]], "classes": ["fox", "dog", "cat"]},
        {"y": Y[:, [2, 0]], "classes": ["fox", "cat"]},
        {"y": np.where([False, True, False], np.nan, Y)},
        {"y": np.where([False, True, False], "unknown", Y.astype(str)), "classes": NAMES},
        {"y": Y[:, [2, 0]].astype(str), "classes": ["fox", "cat"]},
    ],
)
def test_arrays_may_lack_an_ignored_label_or_hold_anything(tmp_path: Path, stored: dict[str, Any]) -> None:
    data = load(npz(tmp_path, **stored), NAMES, ignored=["dog"])
    assert (data.classes, data.labels().tolist()) == (NAMES, WITHOUT_DOG)


@pytest.mark.parametrize(
    "text",
    [
        "a,b,fox,cat\n0,1,0,0\n2,3,0,1\n4,5,0,0\n6,7,1,1\n",
        "a,dog,b,fox,cat\n0,?,1,0,0\n2,0,3,0,1\n4,9,5,0,0\n6,,7,1,1\n",
    ],
)
def test_tables_may_lack_an_ignored_label_or_hold_anything(tmp_path: Path, text: str) -> None:
    data = load(csv(tmp_path, text), NAMES, ignored=["dog"])
    assert (data.columns, data.classes) == (("a", "b"), NAMES)
    assert (data.X.tolist(), data.labels().tolist()) == (X.tolist(), WITHOUT_DOG)


@pytest.mark.parametrize(
    ("stored", "code"),
    [
        ({"y": Y[:, :2]}, ErrorCode.DATA_SHAPE),
        ({"y": Y[:, :2], "classes": ["cat", "dog"]}, ErrorCode.DATA_SHAPE),
        ({"y": 2 * Y, "classes": NAMES}, ErrorCode.DATA_LABEL_RANGE),
    ],
)
def test_other_labels_are_as_they_were(tmp_path: Path, stored: dict[str, Any], code: ErrorCode) -> None:
    write_task(infer_task(load(npz(tmp_path, y=Y), NAMES), "pets"), tmp_path / "task.toml")
    task = load_task(tmp_path / "task.toml")
    with pytest.raises(OstrakaError) as caught:
        task.load(npz(tmp_path, **stored), ignored=["dog"])
    assert caught.value.code in (code, ErrorCode.TASK_MISMATCH)


def test_a_table_without_another_label_names_it(tmp_path: Path) -> None:
    with pytest.raises(OstrakaError, match="1 of 2 labels, and none for 'fox'") as caught:
        load(csv(tmp_path, "a,b,cat\n1,2,0\n"), NAMES, ignored=["dog"])
    assert caught.value.code is ErrorCode.DATA_SHAPE
    assert load(csv(tmp_path, "a,b,dog\n1,2,0\n"), NAMES, ignored=["dog"]).y is None


def test_a_task_reads_what_its_table_lacks(tmp_path: Path) -> None:
    task = infer_task(load(npz(tmp_path, y=Y), NAMES), "pets")
    path = csv(tmp_path, "x0,x1,fox,cat\n0,1,0,0\n2,3,0,1\n")
    assert task.load(path, ignored=["dog"]).labels().tolist() == WITHOUT_DOG[:2]
    with pytest.raises(OstrakaError):
        task.load(path)
