import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from ostraka.common.datasets import Dataset, digits, from_arrays, load, load_splits, save
from ostraka.common.errors import ErrorCode, OstrakaError

SHARED = Path(__file__).parents[4] / "shared" / "data"
X = np.arange(12).reshape(6, 2)
Y = np.array([0, 1, 2, 0, 1, 2])
LEVELS = np.array(["low", "1", "very-high", "high", "low", "high"])


def npz(folder: Path, **stored: Any) -> Path:
    path = folder / "data.npz"
    np.savez(path, **stored)
    return path


def csv(folder: Path, text: str) -> Path:
    path = folder / "data.csv"
    path.write_text(text)
    return path


def fails(path: Path | str, code: ErrorCode, *named: str, **kwargs: Any) -> None:
    with pytest.raises(OstrakaError) as caught:
        load(path, **kwargs)
    assert caught.value.code == code
    for part in (str(path), *named):
        assert part in caught.value.message
    assert "\n" not in caught.value.message


def labels(dataset: Dataset) -> list[int]:
    indices: list[int] = dataset.labels().tolist()
    return indices


def test_an_npz_is_read_with_its_shape_and_named_columns(tmp_path: Path) -> None:
    images = load(npz(tmp_path, X=np.ones((3, 4, 5), np.uint8), y=np.array([0, 1, 0], np.uint8)))
    assert (images.shape, images.X.shape) == ((4, 5), (3, 20))
    assert images.X.dtype == np.float32
    assert labels(images) == [0, 1, 0]
    assert images.labels().dtype == np.int64
    assert load(npz(tmp_path, X=X, feature_names=["a", "b"])).columns == ("a", "b")
    pool = load(npz(tmp_path, X=X))
    assert (pool.columns, pool.y, pool.shape, len(pool)) == (("x0", "x1"), None, None, 6)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tables_are_read_alike(tmp_path: Path, suffix: str) -> None:
    table = pa.table({"age": [1, 2, 3], "kind": ["dog", "cat", "dog"], "ok": [True, False, True]})
    path = tmp_path / f"data.{suffix}"
    if suffix == "csv":
        path.write_text("age,kind,ok\n1,dog,true\n2,cat,false\n3,dog,true\n")
    else:
        pq.write_table(table, path)
    data = load(path, label="kind")
    assert data.columns == ("age", "ok")
    assert data.X.tolist() == [[1, 1], [2, 0], [3, 1]]
    assert (data.classes, labels(data)) == (("cat", "dog"), [1, 0, 1])


def test_labels_of_a_parquet_dictionary_or_truth_are_names_and_indices(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"a": [1, 2], "label": pa.array(["x", "y"]).dictionary_encode()}), path)
    assert load(path).classes == ("x", "y")
    pq.write_table(pa.table({"a": [1, 2], "label": [True, False]}), path)
    assert labels(load(path)) == [1, 0]


def test_a_table_without_the_label_column_is_a_pool(tmp_path: Path) -> None:
    pool = load(csv(tmp_path, "a,b\n1,2\n"))
    assert pool.y is None
    with pytest.raises(OstrakaError, match="add a label column") as caught:
        pool.labels()
    assert caught.value.code == ErrorCode.DATA_MISSING


@pytest.mark.parametrize(
    ("stored", "classes", "expected", "names"),
    [
        (["10", "9", "-1"], None, [2, 1, 0], ("-1", "9", "10")),
        (["1.0", "0.0", "1.0"], None, [1, 0, 1], ("0", "1")),
        (["b", "a", "b"], ("c", "b", "a"), [1, 2, 1], ("c", "b", "a")),
        (["2", "1", "1"], ("1", "2", "3"), [1, 0, 0], ("1", "2", "3")),
    ],
)
def test_label_columns_are_looked_up_in_the_classes(
    tmp_path: Path, stored: list[str], classes: Any, expected: list[int], names: tuple[str, ...]
) -> None:
    path = csv(tmp_path, "a,label\n" + "".join(f"0,{label}\n" for label in stored))
    data = load(path, classes=classes)
    assert (labels(data), data.classes) == (expected, names)


def test_npz_labels_are_words_where_a_class_is_a_number(tmp_path: Path) -> None:
    path = npz(tmp_path, X=X[:2], y=np.array([1, 0]))
    assert labels(load(path, classes=("1", "0"))) == [0, 1]
    assert labels(load(path, classes=("no", "yes"))) == [1, 0]
    fails(path, ErrorCode.DATA_LABEL_RANGE, "label '0' in row 1", classes=("1", "2"))


@pytest.mark.parametrize(
    ("ids", "read"),
    [
        (["p", "007", "NA", ""], ("p", "007", "", "")),
        ([7.0, 8.0, np.nan, 9.0], ("7", "8", "", "9")),
        ([b"p", b"q", b"r", b""], ("p", "q", "r", "")),
        ([10**17 + 1, 2, 3, 4], (str(10**17 + 1), "2", "3", "4")),
    ],
)
def test_npz_ids_are_those_of_a_table_with_the_same_values(
    tmp_path: Path, ids: list[Any], read: tuple[str, ...]
) -> None:
    assert load(npz(tmp_path, X=np.ones((4, 1)), ids=np.array(ids))).ids == read


@pytest.mark.parametrize(
    ("ids", "said"), [([1e17, 2.0], "lose the last digits"), ([b"\xff", b"q"], "write them as text")]
)
def test_npz_ids_that_tell_nobody_apart_are_refused(tmp_path: Path, ids: list[Any], said: str) -> None:
    with pytest.raises(OstrakaError, match=said):
        load(npz(tmp_path, X=np.ones((2, 1)), ids=np.array(ids)))


def test_npz_labels_are_indices_into_the_classes_beside_them(tmp_path: Path) -> None:
    path = npz(tmp_path, X=X, y=Y, classes=["a", "b", "c"])
    assert load(path).classes == ("a", "b", "c")
    assert labels(load(path, classes=("c", "b", "a"))) == [2, 1, 0, 2, 1, 0]
    assert load(npz(tmp_path, X=X, y=Y), classes=("a", "b", "c")).classes == ("a", "b", "c")
    assert labels(load(npz(tmp_path, X=X[:2], y=["b", "a"]))) == [1, 0]


def test_what_is_missing_or_of_no_kind_is_said(tmp_path: Path) -> None:
    fails(tmp_path / "none.npz", ErrorCode.DATA_MISSING, "check the path")
    fails(tmp_path / "data.sav", ErrorCode.DATA_UNREADABLE, ".csv, .tsv, .txt, .parquet, .xlsx, .npz")
    fails(npz(tmp_path, X_train=X), ErrorCode.DATA_MISSING, "no array X", "X_train")


@pytest.mark.parametrize("name", ["a.npz", "a.parquet", "a.csv"])
def test_files_that_are_something_else_are_unreadable(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"a,b\n1\n1,2,3\n")
    fails(path, ErrorCode.DATA_UNREADABLE)
    path.write_bytes(b"")
    fails(path, ErrorCode.DATA_UNREADABLE)


def test_truncated_and_pickled_files_are_unreadable(tmp_path: Path) -> None:
    path = npz(tmp_path, X=X)
    path.write_bytes(path.read_bytes()[:-40])
    fails(path, ErrorCode.DATA_UNREADABLE)
    fails(npz(tmp_path, X=np.array([[{}]])), ErrorCode.DATA_UNREADABLE, "Python objects")


def packed(folder: Path, header: str, content: bytes = b"") -> Path:
    """Write an .npz with one array whose header states this shape."""
    path = folder / "data.npz"
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {header}}}\n".encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content)
    return path


@pytest.mark.heavy
def test_files_that_claim_more_than_they_hold_are_refused(tmp_path: Path) -> None:
    bomb = packed(tmp_path, "(16777217,)", bytes(64 << 20))
    fails(bomb, ErrorCode.DATA_UNREADABLE, "claim to unpack", "does not compress")
    fails(packed(tmp_path, "(70368744177664,)"), ErrorCode.DATA_UNREADABLE)
    fails(packed(tmp_path, "(" * 3000 + "1" + ")" * 3000), ErrorCode.DATA_UNREADABLE)
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"x": pa.array(np.zeros((16 << 20) + 1, np.int8))}), path)
    fails(path, ErrorCode.DATA_UNREADABLE, "claim to unpack")


def test_compressed_records_are_read(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    np.savez_compressed(path, X=np.zeros((1000, 100), np.float32))
    assert len(load(path)) == 1000


@pytest.mark.parametrize(
    "stored",
    [
        {"X": np.arange(3)},
        {"X": np.empty((0, 3))},
        {"X": np.empty((3, 0))},
        {"X": X, "y": Y[:5]},
        {"X": X, "y": np.zeros((6, 1), int)},
        {"X": X, "y": np.zeros((6, 2, 3), int)},
        {"X": X, "y": np.zeros((), int)},
        {"X": X, "y": Y, "columns": ["a"]},
    ],
)
def test_arrays_of_the_wrong_shape_are_refused(tmp_path: Path, stored: dict[str, NDArray[Any]]) -> None:
    fails(npz(tmp_path, **stored), ErrorCode.DATA_SHAPE)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_a_value_that_is_no_number_names_row_and_column(tmp_path: Path, value: float) -> None:
    broken = X.astype(float)
    broken[4, 1] = value
    fails(npz(tmp_path, X=broken, columns=["a", "b"]), ErrorCode.DATA_NAN, "row 4", "column 'b'")


def test_gaps_in_a_table_name_row_and_column(tmp_path: Path) -> None:
    fails(csv(tmp_path, "a,b\n1,2\n3,\n"), ErrorCode.DATA_NAN, "line 3", "column 'b'")
    fails(csv(tmp_path, "a,b\n1,\n3,\n"), ErrorCode.DATA_NAN, "line 2", "column 'b'")
    fails(csv(tmp_path, "a,label\n1,2\n3,\n"), ErrorCode.DATA_NAN, "line 3", "column 'label'")


def test_features_of_text_name_the_column(tmp_path: Path) -> None:
    fails(csv(tmp_path, "a,b\n1,x\n3,y\n"), ErrorCode.DATA_NOT_NUMERIC, "column 'b'")
    fails(npz(tmp_path, X=np.array([["a"]])), ErrorCode.DATA_NOT_NUMERIC)


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    fails(csv(tmp_path, "a,a\n1,2\n"), ErrorCode.DATA_SHAPE, "'a'")
    fails(csv(tmp_path, "a,label,label\n1,2,2\n"), ErrorCode.DATA_SHAPE, "'label'")
    fails(csv(tmp_path, "label\n1\n"), ErrorCode.DATA_SHAPE)


@pytest.mark.parametrize(
    ("y", "named"),
    [
        ([0, 1, 2, -1, 0, 0], "label -1 in row 3"),
        ([0, 1, 2, 0, 0, 3], "label 3 in row 5"),
        ([0.0, 0.5, 0, 0, 0, 0], "integers"),
    ],
)
def test_labels_out_of_range_name_the_row(tmp_path: Path, y: Any, named: str) -> None:
    fails(npz(tmp_path, X=X, y=np.array(y)), ErrorCode.DATA_LABEL_RANGE, named, classes=("a", "b", "c"))


def test_labels_that_are_no_class_name_the_row(tmp_path: Path) -> None:
    classes = ("cat", "dog")
    path = csv(tmp_path, "a,label\n1,cat\n2,cow\n")
    fails(path, ErrorCode.DATA_LABEL_RANGE, "'cow' in line 3", "cat, dog", classes=classes)
    fails(csv(tmp_path, "a,label\n1,0\n2,1\n"), ErrorCode.DATA_AMBIGUOUS, "1 in line 3", classes=classes)
    fails(csv(tmp_path, "a,label\n1,0.5\n"), ErrorCode.DATA_LABEL_RANGE, "0.5 in line 2")


@pytest.mark.parametrize("classes", [None, ("a", "b", "c")])
@pytest.mark.parametrize("shape", [(6, 2), (6, 2, 3), (6, 1, 2, 2)])
def test_saved_datasets_come_back(tmp_path: Path, classes: Any, shape: tuple[int, ...]) -> None:
    stored = from_arrays(np.random.default_rng(0).normal(size=shape), Y, classes=classes)
    save(stored, tmp_path / "a.npz")
    loaded = load(tmp_path / "a.npz")
    assert (loaded.columns, loaded.classes, loaded.shape) == (stored.columns, classes, stored.shape)
    assert np.array_equal(loaded.X, stored.X)
    assert labels(loaded) == labels(stored)
    assert loaded.consent is None


def test_consent_is_kept_by_record(tmp_path: Path) -> None:
    stored = load(npz(tmp_path, X=X, y=Y, consent=LEVELS))
    assert stored.consent == tuple(LEVELS.tolist())
    save(stored, tmp_path / "again.npz")
    assert load(tmp_path / "again.npz").consent == stored.consent
    splits = npz(tmp_path, X_train=X, y_train=Y, consent_train=LEVELS, X_test=X[:2], y_test=Y[:2])
    train, test = load_splits(splits)
    assert (train.consent, test.consent) == (stored.consent, None)
    whole, tested = load_splits(npz(tmp_path, X=X, y=Y, consent=LEVELS))
    for part in (whole, tested):
        assert part.consent == tuple(LEVELS[(part.X[:, 0] / 2).astype(int)].tolist())


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_column_of_consent_is_a_feature_unless_asked_for(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"data.{suffix}"
    if suffix == "csv":
        path.write_text("a,consent,label\n1,2,x\n3,1,y\n")
    else:
        levels = pa.array([2, 1]).dictionary_encode()
        pq.write_table(pa.table({"a": [1, 3], "consent": levels, "label": ["x", "y"]}), path)
    asked = load(path, consent=True)
    assert (asked.columns, asked.consent) == (("a",), ("2", "1"))
    assert load(csv(tmp_path, "a,consent\n1,2\n")).columns == ("a", "consent")
    assert load(csv(tmp_path, "a\n1\n"), consent=True).consent is None


@pytest.mark.parametrize(
    ("levels", "code", "named"),
    [
        (["low", "", "low"], ErrorCode.DATA_MISSING, "no consent in row 1"),
        (["low", "low", " "], ErrorCode.DATA_MISSING, "no consent in row 2"),
        (["Low", "low", "low"], ErrorCode.DATA_UNREADABLE, "'Low' in row 0"),
        (["low", "x" * 33, "low"], ErrorCode.DATA_UNREADABLE, "in row 1"),
        (["low", "low", "-low"], ErrorCode.DATA_UNREADABLE, "'-low' in row 2"),
        ([0.5, 1.0, np.nan], ErrorCode.DATA_UNREADABLE, "float64"),
        (["low", "low"], ErrorCode.DATA_SHAPE, "(2,) for 3 records"),
    ],
)
def test_consent_that_is_missing_or_no_level_names_the_row(
    tmp_path: Path, levels: list[Any], code: ErrorCode, named: str
) -> None:
    fails(npz(tmp_path, X=X[:3], consent=levels), code, named)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a,consent\n1,low\n2,\n", ErrorCode.DATA_MISSING),
        ("a,consent\n1,3\n2,\n", ErrorCode.DATA_MISSING),
        ("a,consent\n1,low\n2,not asked\n", ErrorCode.DATA_UNREADABLE),
    ],
)
def test_a_gap_in_a_column_of_consent_names_the_line(tmp_path: Path, text: str, code: ErrorCode) -> None:
    fails(csv(tmp_path, text), code, "line 3", consent=True)


def test_rows_are_taken_in_the_order_asked(tmp_path: Path) -> None:
    taken = from_arrays(X, Y).take(np.array([5, 0]))
    assert taken.X.tolist() == [[10, 11], [0, 1]]
    assert labels(taken) == [2, 0]
    assert from_arrays(X).take(slice(2)).y is None
    levels = from_arrays(X, Y, consent=LEVELS)
    assert levels.take(np.array([5, 0])).consent == ("high", "low")
    assert levels.take(slice(2)).consent == ("low", "1")


def test_stored_splits_are_kept(tmp_path: Path) -> None:
    path = npz(tmp_path, X_train=X, y_train=Y, X_test=X[:2], y_test=Y[:2])
    train, test = load_splits(path)
    assert (len(train), len(test), labels(test)) == (6, 2, [0, 1])


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"y_test": np.array([0, 3])}, ErrorCode.DATA_LABEL_RANGE),
        ({"y_train": np.array([0, 1, 2, 0, 1, -2])}, ErrorCode.DATA_LABEL_RANGE),
        ({"X_test": X[:2, :1]}, ErrorCode.DATA_SHAPE),
        ({"y_test": None}, ErrorCode.DATA_MISSING),
        ({"y_train": None}, ErrorCode.DATA_MISSING),
        ({"X_test": None}, ErrorCode.DATA_MISSING),
        ({"X_train": np.full((6, 2), np.nan)}, ErrorCode.DATA_NAN),
    ],
)
def test_stored_splits_that_do_not_fit_are_refused(
    tmp_path: Path, change: dict[str, Any], code: ErrorCode
) -> None:
    arrays = {"X_train": X, "y_train": Y, "X_test": X[:2], "y_test": Y[:2], **change}
    path = npz(tmp_path, **{name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(OstrakaError) as caught:
        load_splits(path)
    assert caught.value.code == code


def test_one_file_is_split_by_seed_without_overlap(tmp_path: Path) -> None:
    path = csv(tmp_path, "a,label\n" + "".join(f"{row},{row % 2}\n" for row in range(50)))
    train, test = load_splits(path, seed=3)
    assert (len(train), len(test)) == (40, 10)
    assert sorted([*train.X[:, 0], *test.X[:, 0]]) == list(range(50))
    again, other = load_splits(path, seed=3)[1], load_splits(path, seed=4)[1]
    assert np.array_equal(again.X, test.X)
    assert not np.array_equal(other.X, test.X)
    assert len(load_splits(npz(tmp_path, X=X, y=Y))[1]) == 1


def test_splitting_needs_labels(tmp_path: Path) -> None:
    with pytest.raises(OstrakaError, match="labels"):
        load_splits(csv(tmp_path, "a,kind\n1,2\n"))


def test_digits_come_with_their_shape_and_classes() -> None:
    data = digits()
    assert (data.X.shape, data.shape) == ((1797, 64), (8, 8))
    assert data.classes == tuple("0123456789")
    assert (data.X.min(), data.X.max()) == (0, 16)


@pytest.mark.heavy
@pytest.mark.skipif(not SHARED.is_dir(), reason="the research data are not beside this checkout")
def test_real_files_are_read() -> None:
    train, test = load_splits(SHARED / "mnist.npz")
    assert (train.X.shape, test.X.shape, train.shape) == ((60_000, 784), (10_000, 784), (28, 28))
    assert set(labels(train)) == set(range(10))
    adult, _ = load_splits(SHARED / "adult.npz")
    assert (len(adult), len(adult.columns), adult.columns[0]) == (32_561, 104, "age")
    yeast, _ = load_splits(SHARED / "multilabel_yeast.npz")
    assert (yeast.X.shape, yeast.labels().shape, yeast.classes) == ((1500, 103), (1500, 14), None)
    assert set(yeast.labels().ravel().tolist()) == {0, 1}


def test_text_under_another_name_is_told(tmp_path: Path) -> None:
    for suffix in ("xlsx", "parquet"):
        path = tmp_path / f"records.{suffix}"
        path.write_text("a,b\n1,2\n")
        with pytest.raises(OstrakaError, match=r"it is text; name it \.csv"):
            load(path)
