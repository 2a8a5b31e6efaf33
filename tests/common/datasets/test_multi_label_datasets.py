from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ostraka.common.datasets import from_arrays, load, load_splits, save
from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.errors import ErrorCode, OstrakaError

X = np.arange(8).reshape(4, 2)
Y = np.array([[0, 1, 0], [1, 1, 0], [0, 0, 0], [1, 0, 1]])
NAMES = ("cat", "dog", "fox")
TABLE = "a,fox,cat,b,dog\n0,0,0,1,1\n2,0,1,3,1\n4,0,0,5,0\n6,1,1,7,0\n"


def npz(folder: Path, **stored: Any) -> Path:
    path = folder / "data.npz"
    np.savez(path, **stored)
    return path


def csv(folder: Path, text: str) -> Path:
    path = folder / "data.csv"
    path.write_text(text)
    return path


def fails(path: Path, code: ErrorCode, *named: str, **kwargs: Any) -> OstrakaError:
    with pytest.raises(OstrakaError) as caught:
        load(path, **kwargs)
    assert caught.value.code == code
    for part in (str(path), *named):
        assert part in caught.value.message
    return caught.value


@pytest.mark.parametrize("dtype", [np.uint8, bool, np.int64, np.float32])
def test_a_y_of_two_axes_is_multi_label(tmp_path: Path, dtype: Any) -> None:
    data = load(npz(tmp_path, X=X, y=Y.astype(dtype)))
    assert data.multi_label
    assert data.labels().dtype == np.int64
    assert data.labels().tolist() == Y.tolist()
    assert data.classes is None


def test_one_class_per_record_and_pools_are_not_multi_label() -> None:
    assert not from_arrays(X, Y[:, 0]).multi_label
    assert not from_arrays(X, classes=NAMES).multi_label


def test_labels_are_named_by_the_file_or_by_what_is_asked(tmp_path: Path) -> None:
    assert load(npz(tmp_path, X=X, y=Y), NAMES).classes == NAMES
    path = npz(tmp_path, X=X, y=Y, classes=NAMES)
    assert load(path).classes == NAMES
    turned = load(path, ("fox", "cat", "dog"))
    assert (turned.classes, turned.labels().tolist()) == (("fox", "cat", "dog"), Y[:, [2, 0, 1]].tolist())
    assert load(path, ("cat", "dog", "cow")).classes == NAMES


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_has_a_column_for_every_label(tmp_path: Path, suffix: str) -> None:
    path = csv(tmp_path, TABLE)
    if suffix == "parquet":
        path = tmp_path / "data.parquet"
        labels = {"fox": Y[:, 2].astype(bool), "cat": Y[:, 0].astype(float), "dog": Y[:, 1].astype(str)}
        pq.write_table(pa.table({"a": X[:, 0], **labels, "b": X[:, 1]}), path)
    data = load(path, NAMES)
    assert (data.columns, data.classes) == (("a", "b"), NAMES)
    assert (data.X.tolist(), data.labels().tolist()) == (X.tolist(), Y.tolist())


def test_a_table_with_no_label_column_is_a_pool(tmp_path: Path) -> None:
    pool = load(csv(tmp_path, "a,b\n1,2\n"), NAMES)
    assert (pool.columns, pool.y, pool.classes) == (("a", "b"), None, NAMES)


def test_a_table_with_some_label_columns_lacks_the_others(tmp_path: Path) -> None:
    path = csv(tmp_path, "a,cat,fox\n1,0,0\n")
    fails(path, ErrorCode.DATA_SHAPE, "2 of 3 labels", "'dog'", label=NAMES)
    fails(csv(tmp_path, "a,cat,dog,fox,cat\n1,0,0,0,0\n"), ErrorCode.DATA_SHAPE, "'cat'", label=NAMES)


@pytest.mark.parametrize("value", [-2, 2, 0.5, np.inf])
def test_an_array_with_anything_but_0_and_1_names_label_and_row(tmp_path: Path, value: float) -> None:
    y = Y.astype(type(value))
    y[2, 1] = value
    path = npz(tmp_path, X=X, y=y)
    error = fails(path, ErrorCode.DATA_LABEL_RANGE, f"{value!r} for label 'label1' in row 2")
    assert error.details == {"label": "label1", "row": "2"}
    fails(path, ErrorCode.DATA_LABEL_RANGE, "label 'dog'", label=NAMES)


@pytest.mark.parametrize(
    ("value", "named"), [("2", "'2' for"), ("0.5", "'0.5' for"), ("yes", "'yes' for"), ("-1", "'-1' for")]
)
def test_a_table_with_anything_but_0_and_1_names_label_and_line(
    tmp_path: Path, value: str, named: str
) -> None:
    text = f"a,cat,dog\n0,1,0\n1,0,1\n2,1,{value}\n"
    error = fails(csv(tmp_path, text), ErrorCode.DATA_LABEL_RANGE, named, "'dog' in line 4", label=NAMES[:2])
    assert error.details == {"label": "dog", "row": "2"}


@pytest.mark.parametrize("column", ["1,0,,0", "1,0,NA,0", "true,false,,false", "1.0,0.00,,0.0"])
def test_a_gap_in_a_label_column_is_a_label_that_nobody_knows(tmp_path: Path, column: str) -> None:
    rows = "".join(f"{row},{row % 2},{value}\n" for row, value in enumerate(column.split(",")))
    data = load(csv(tmp_path, "a,cat,dog\n" + rows), NAMES[:2])
    assert data.labels().tolist() == [[0, 1], [1, 0], [0, UNKNOWN], [1, 0]]
    save(data, tmp_path / "again.npz")
    assert load(tmp_path / "again.npz", NAMES[:2]).labels().tolist() == data.labels().tolist()


def test_nan_in_an_array_is_a_label_that_nobody_knows(tmp_path: Path) -> None:
    y = Y.astype(float)
    y[2, 1] = np.nan
    assert load(npz(tmp_path, X=X, y=y)).labels()[2, 1] == UNKNOWN


def test_labels_of_1_and_minus_1_alone_have_two_readings(tmp_path: Path) -> None:
    signs = np.where(Y == 1, 1, UNKNOWN)
    fails(npz(tmp_path, X=X, y=signs), ErrorCode.DATA_AMBIGUOUS, "-1 has two readings: no, or unknown?")
    known = np.where(Y == 1, 1.0, np.nan)
    data = load(npz(tmp_path, X=X, y=known))
    save(data, tmp_path / "again.npz")
    assert load(tmp_path / "again.npz").labels().tolist() == signs.tolist()


@pytest.mark.parametrize("shape", [(3, 3), (4, 1), (4, 0), (4, 2, 2)])
def test_labels_of_the_wrong_shape_are_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    fails(npz(tmp_path, X=X, y=np.zeros(shape, int)), ErrorCode.DATA_SHAPE, "0 and 1 for each")


def test_names_must_fit_the_columns(tmp_path: Path) -> None:
    path = npz(tmp_path, X=X, y=Y, classes=NAMES[:2])
    fails(path, ErrorCode.DATA_SHAPE, "3 columns of labels for 2 labels")
    fails(path, ErrorCode.DATA_SHAPE, "3 columns of labels for 2 labels", label=("dog", "cat"))


@pytest.mark.heavy
@given(y=arrays(np.int64, st.tuples(st.integers(1, 5), st.integers(2, 4)), elements=st.integers(0, 1)))
@pytest.mark.parametrize("named", [True, False])
def test_saved_labels_come_back(tmp_path_factory: pytest.TempPathFactory, named: bool, y: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "data.npz"
    classes = tuple(f"name {index}" for index in range(y.shape[1])) if named else None
    stored = from_arrays(np.ones((len(y), 2, 2)), y, classes=classes)
    save(stored, path)
    loaded = load(path)
    assert (loaded.shape, loaded.classes, loaded.labels().tolist()) == ((2, 2), classes, y.tolist())


def test_labels_and_consent_stand_beside_each_other(tmp_path: Path) -> None:
    path = csv(tmp_path, "a,consent,cat,dog\n1,low,0,1\n")
    data = load(path, NAMES[:2], consent=True)
    assert (data.columns, data.labels().tolist(), data.consent) == (("a",), [[0, 1]], ("low",))


def test_rows_are_taken_with_all_their_labels() -> None:
    taken = from_arrays(X, Y, classes=NAMES).take(np.array([3, 0]))
    assert (len(taken), taken.labels().tolist(), taken.classes) == (2, Y[[3, 0]].tolist(), NAMES)


def test_splits_keep_labels_and_records_together(tmp_path: Path) -> None:
    stored = npz(tmp_path, X_train=X, y_train=Y, X_test=X[:2], y_test=Y[:2], classes=NAMES)
    train, test = load_splits(stored)
    assert (train.labels().tolist(), test.labels().tolist()) == (Y.tolist(), Y[:2].tolist())
    assert (train.classes, test.classes) == (NAMES, NAMES)
    train, test = load_splits(csv(tmp_path, TABLE), NAMES)
    assert (len(train), len(test)) == (3, 1)
    for part in (train, test):
        assert part.labels().tolist() == Y[part.X[:, 0].astype(int) // 2].tolist()


@pytest.mark.parametrize("y_test", [Y[:, 0], Y[:, :2]])
def test_splits_with_other_labels_are_refused(tmp_path: Path, y_test: Any) -> None:
    with pytest.raises(OstrakaError, match="give both the same labels") as caught:
        load_splits(npz(tmp_path, X_train=X, y_train=Y, X_test=X, y_test=y_test))
    assert caught.value.code == ErrorCode.DATA_SHAPE
