import hashlib
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ostraka.common.datasets import digits, from_arrays, load_splits, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import NumberColumn, TableInput, Task, TensorInput, infer_task, load_task, write_task
from ostraka.common.task.task import MAX_PROJECTION

SHARED = Path(__file__).parents[4] / "shared" / "data"
ADULTS = Task(
    name="adults",
    label="income",
    classes=("low", "high"),
    input=TableInput(
        preprocessing="range",
        columns=(
            NumberColumn(name="age", dtype="int32", min=17, max=90),
            NumberColumn(name="hours", min=0.1, max=99.9),
            NumberColumn(name="year", min=2020, max=2020),
        ),
    ),
)
IMAGES = Task(
    name="images", classes=("0", "1"), input=TensorInput(shape=(2, 3), dtype="uint8", range=(0, 255))
)
RECORDS = np.array([[17, 0.1, 2020], [90, 99.9, 2020]])


def adults(X: Any = RECORDS, columns: Any = ("age", "hours", "year"), **fields: Any) -> Any:
    return from_arrays(np.asarray(X), columns=columns, **fields)


def mismatch(task: Task, dataset: Any, *named: str, code: ErrorCode = ErrorCode.TASK_MISMATCH) -> None:
    with pytest.raises(OstrakaError) as caught:
        task.check(dataset)
    assert caught.value.code == code
    for part in named:
        assert part in caught.value.message


def test_records_of_the_task_pass() -> None:
    ADULTS.check(adults())
    ADULTS.check(adults(y=np.array([0, 1]), classes=("low", "high")))
    IMAGES.check(from_arrays(np.full((4, 2, 3), 255)))
    IMAGES.check(from_arrays(np.zeros((4, 6))))


def test_columns_in_another_order_are_told() -> None:
    mismatch(
        ADULTS,
        adults(RECORDS[:, [1, 0, 2]], columns=("hours", "age", "year")),
        "The data have their columns, from 'hours' on, in another order",
        "put the columns in the task's order",
    )


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        (("age", "hours"), "lack columns of the task: add the missing column 'year'."),
        (("age", "hours", "Year"), "add the missing column 'year' (did you mean Year?)."),
        (("hours",), "add the missing columns 'age', 'year'."),
        (("age^hours^year",), "'age', 'hours', 'year'; they have the column 'age^hours^year' instead."),
        (("id", "age", "hours", "year"), "neither has nor ignores: drop the column 'id'."),
        (("age", "hours", "year", "id", "x"), "drop the columns 'id', 'x'."),
    ],
)
def test_missing_and_extra_columns_are_named(columns: tuple[str, ...], named: str) -> None:
    mismatch(ADULTS, adults(np.full((1, len(columns)), 20), columns=columns), named)


@pytest.mark.parametrize(
    ("classes", "column", "said"),
    [
        ("[true, false]", "", "is invalid: class 1 must be text, is True; write classes as text in quotes"),
        ('["a", ""]', "", "class 2 must be text of 1 or more characters, is ''"),
        (
            '["a", "b"]',
            'kind = "date", min = "soon", max = 2026-12-31',
            "of column 'd' min must be a day such",
        ),
        ('["a", "b"]', 'kind = "category", values = ["p", 7]', "of column 'd' values 2 must be text, is 7"),
        ('["a", "b"]', 'kind = "category"', "of column 'd' values is missing; correct it"),
        ('["a", "b"]', 'kind = "date", mim = 1', "'d'"),
    ],
)
def test_what_is_wrong_with_a_class_or_column_is_told_without_a_path(
    tmp_path: Path, classes: str, column: str, said: str
) -> None:
    file = tmp_path / "task.toml"
    columns = f'columns = [{{ name = "d", {column or "min = 0, max = 1"} }}]'
    file.write_text(f'name = "t"\nclasses = {classes}\n[input]\nkind = "table"\n{columns}\n')
    with pytest.raises(OstrakaError) as refused:
        load_task(file)
    assert said in refused.value.message


@pytest.mark.parametrize("shape", [(4, 3, 2), (4, 2, 3, 1), (4, 5)])
def test_another_shape_is_named(shape: tuple[int, ...]) -> None:
    found = "x".join(map(str, shape[1:]))
    mismatch(IMAGES, from_arrays(np.zeros(shape)), "2x3", found)


@pytest.mark.parametrize(
    ("classes", "named"),
    [
        (("high", "low"), "Class 0 is 'low' in the task but 'high' in the data"),
        (("low",), "Class 1 is 'high' in the task but absent in the data"),
        (("low", "high", "none"), "Class 2 is absent in the task but 'none' in the data"),
    ],
)
def test_other_classes_are_named(classes: tuple[str, ...], named: str) -> None:
    mismatch(ADULTS, adults(y=np.array([0, 0]), classes=classes), named)


def test_labels_beyond_the_classes_are_named() -> None:
    mismatch(
        ADULTS, adults(y=np.array([0, 2])), "label 2 in row 1", "0 to 1", code=ErrorCode.DATA_LABEL_RANGE
    )


@pytest.mark.parametrize(
    ("column", "value", "named"),
    [
        (0, 16, "Column 'age' has 16 in row 1 but the task's range is 17 to 90"),
        (1, 99.95, "Column 'hours' has 99.95 in row 1"),
        (0, 17.5, "Column 'age' has 17.5 in row 1 but the task takes whole numbers"),
    ],
)
def test_values_out_of_range_name_column_and_range(column: int, value: float, named: str) -> None:
    records = RECORDS.copy()
    records[1, column] = value
    mismatch(ADULTS, adults(records), named)


def test_ranges_of_images_are_checked() -> None:
    mismatch(IMAGES, from_arrays(np.full((1, 2, 3), 256)), "Column 'x0'", "0 to 255")


def test_ranges_are_mapped_onto_the_unit_interval_and_clipped() -> None:
    prepared = ADULTS.prepare(np.array([[17, 50, 2020], [53.5, -1e30, 7], [200, 99.9, 1e30]]))
    assert prepared.dtype == np.float32
    assert prepared == pytest.approx(np.array([[0, 0.5, 0], [0.5, 0, 0], [1, 1, 0]]), abs=1e-6)


def test_without_preprocessing_records_pass_as_flat_floats() -> None:
    prepared = IMAGES.prepare(np.arange(12, dtype=np.uint8).reshape(2, 2, 3))
    assert prepared.dtype == np.float32
    assert prepared.tolist() == np.arange(12).reshape(2, 6).tolist()
    assert IMAGES.prepare(np.empty((0, 6))).shape == (0, 6)


def test_records_that_cannot_be_prepared_are_refused() -> None:
    with pytest.raises(OstrakaError, match="2 features but the task 'adults' has 3") as caught:
        ADULTS.prepare(RECORDS[:, :2])
    assert caught.value.code == ErrorCode.DATA_SHAPE
    with pytest.raises(OstrakaError, match="row 1, column 'hours'") as caught:
        ADULTS.prepare(np.array([[1, 1, 1], [1, np.nan, 1]]))
    assert caught.value.code == ErrorCode.DATA_NAN


def test_the_digest_is_of_the_canonical_json() -> None:
    text = (
        '{"classes":["low","höh"],"input":{"columns":[{"dtype":"int32","max":90.0,"min":17.0,"name":"age"}],'
        '"kind":"table","preprocessing":"none"},"label":"income","name":"adults"}'
    )
    column = NumberColumn(name="age", dtype="int32", min=17, max=90)
    task = Task(name="adults", label="income", classes=("low", "höh"), input=TableInput(columns=(column,)))
    assert task.digest == hashlib.sha256(text.encode()).digest()
    assert Task(**task.model_dump(), persons=False).digest == task.digest


def test_persons_are_stated_of_an_id(tmp_path: Path) -> None:
    stated = Task(**{**ADULTS.model_dump(), "id": "pid", "persons": True})
    write_task(stated, tmp_path / "task.toml")
    assert load_task(tmp_path / "task.toml") == stated
    assert stated.digest != Task(**{**ADULTS.model_dump(), "id": "pid"}).digest
    with pytest.raises(ValidationError, match="persons is true without an id"):
        Task(**{**ADULTS.model_dump(), "persons": True})


def test_the_digest_changes_with_everything() -> None:
    fields = ADULTS.model_dump()
    reordered = {**fields["input"], "columns": fields["input"]["columns"][::-1]}
    others = [
        Task(**{**fields, "name": "other"}),
        Task(**{**fields, "classes": ("high", "low")}),
        Task(**{**fields, "input": reordered}),
        Task(**{**fields, "input": {**fields["input"], "preprocessing": "none"}}),
    ]
    assert len({task.digest for task in [ADULTS, IMAGES, *others]}) == 6


def test_a_projection_is_in_the_file_and_the_digest_and_names_its_encoder(tmp_path: Path) -> None:
    task, other = (Task.model_validate(IMAGES.model_dump() | {"projection": width}) for width in (2, 3))
    write_task(task, tmp_path / "task.toml")
    assert load_task(tmp_path / "task.toml") == task
    assert len({IMAGES.digest, task.digest, other.digest}) == 3
    assert (IMAGES.encoder, task.encoder) == ("", "projection:to_2_of_2x3")


@pytest.mark.parametrize("projection", [0, 6, MAX_PROJECTION + 1])
def test_a_projection_has_fewer_features_than_records_and_at_most_so_many(projection: int) -> None:
    with pytest.raises(ValidationError, match="projection"):
        Task.model_validate(IMAGES.model_dump() | {"projection": projection})


def test_the_digest_does_not_depend_on_how_the_file_is_written(tmp_path: Path) -> None:
    path = tmp_path / "task.toml"
    path.write_text(
        '# the same\nclasses = [ "0",\n "1" ]\nname = "images"\n'
        '[input]\nrange = [0, 255]\ndtype = "uint8"\nshape = [2, 3]\nkind = "tensor"\n'
    )
    assert load_task(path) == IMAGES
    assert load_task(path).digest == IMAGES.digest


NAMES = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=8).filter(
    lambda text: text == unicodedata.normalize("NFC", text).strip()
)


@pytest.mark.heavy
@given(name=NAMES, classes=st.lists(NAMES, min_size=2, max_size=4, unique=True), low=st.floats(-1e30, 0))
def test_any_task_comes_back_from_its_file(
    tmp_path_factory: pytest.TempPathFactory, name: str, classes: list[str], low: float
) -> None:
    path = tmp_path_factory.getbasetemp() / "task.toml"
    column = NumberColumn(name=name + "'", min=low, max=1)
    for shape in (TableInput(columns=(column,)), TensorInput(shape=(3,), range=(low, 1))):
        task = Task(name=name, label=name, classes=tuple(classes), input=shape)
        write_task(task, path)
        assert load_task(path) == task
        assert load_task(path).digest == task.digest


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("name = ", "not TOML"),
        ('name = "a"\n', "it is missing"),
        ('name = "a"\ncolour = 1\nclasses = ["a", "b"]\n', "it is missing"),
    ],
)
def test_task_files_that_are_off_name_the_key(tmp_path: Path, text: str, named: str) -> None:
    path = tmp_path / "task.toml"
    path.write_text(text)
    with pytest.raises(OstrakaError, match=named) as caught:
        load_task(path)
    assert caught.value.code == ErrorCode.CONFIG_INVALID
    assert str(path) in caught.value.message


def test_a_task_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(OstrakaError, match="ostraka task init"):
        load_task(tmp_path / "task.toml")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"classes": ("a",)}, "at least 2"),
        ({"classes": ("a", "a")}, "class 'a' is named twice"),
        ({"label": "age"}, "both a feature and the label"),
        ({"name": "two\nlines"}, "name"),
        ({"colour": 1}, "colour"),
        ({"input": {"kind": "table", "columns": ()}}, "columns"),
        ({"input": {"kind": "tensor", "shape": (0,), "range": (0, 1)}}, "shape"),
        ({"input": {"kind": "tensor", "shape": (2,), "range": (1, 0)}}, "1 to 0: swap"),
        ({"input": {"kind": "tensor", "shape": (2,), "range": (0, np.inf)}}, "finite"),
        ({"input": {"kind": "table", "columns": [{"name": "a", "min": 1, "max": 0}]}}, "'a' ranges"),
        ({"input": {"kind": "table", "columns": [{"name": "a", "min": 0, "max": 1}] * 2}}, "named twice"),
        ({"input": {"kind": "audio"}}, "tensor"),
    ],
)
def test_tasks_that_make_no_sense_are_refused(change: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        Task(**{**ADULTS.model_dump(), **change})


def test_an_inferred_task_fits_every_data_set_it_was_inferred_from() -> None:
    train = from_arrays(np.array([[1.0, 2.5], [3.0, 4.0]]), np.array([0, 1]), columns=("a", "b"))
    test = from_arrays(np.array([[9.0, -1.0]]), np.array([1]), columns=("a", "b"))
    task = infer_task(train, "small", test)
    assert task.input == TableInput(
        preprocessing="range",
        columns=(NumberColumn(name="a", dtype="int32", min=1, max=9), NumberColumn(name="b", min=-1, max=4)),
    )
    task.check(train)
    task.check(test)


@pytest.mark.parametrize(
    ("X", "dtype"), [([[[0, 255]]], "uint8"), ([[[-1, 255]]], "int32"), ([[[0, 0.5]]], "float32")]
)
def test_inferred_tensors_say_what_numbers_they_hold(X: Any, dtype: str) -> None:
    task = infer_task(from_arrays(np.array([X[0]] * 2), np.array([0, 1])), "t")
    assert isinstance(task.input, TensorInput)
    assert (task.input.dtype, task.input.shape) == (dtype, (1, 2))


def test_a_gap_in_the_class_indices_is_told() -> None:
    with pytest.raises(OstrakaError, match="run to 99 but class 2 never occurs") as caught:
        infer_task(from_arrays(np.ones((3, 2)), np.array([0, 1, 99])), "gap")
    assert caught.value.code == ErrorCode.DATA_LABEL_RANGE


@pytest.mark.parametrize(
    ("X", "y", "named"), [([[1.0], [2.0]], [0, 0], "2 or more entries"), ([[-3e38], [3e38]], [0, 1], "min: ")]
)
def test_data_that_make_no_task_are_told(X: Any, y: Any, named: str) -> None:
    with pytest.raises(OstrakaError, match=named) as caught:
        infer_task(from_arrays(np.array(X), np.array(y)), "none")
    assert caught.value.code == ErrorCode.CONFIG_INVALID


def test_a_site_that_lacks_a_class_loads_its_labels_by_name(tmp_path: Path) -> None:
    path = tmp_path / "site.csv"
    path.write_text("age,hours,year,income\n20,40,2020,high\n30,40,2020,high\n")
    assert ADULTS.load(path).labels().tolist() == [1, 1]


def test_columns_of_a_file_are_found_by_name(tmp_path: Path) -> None:
    path = tmp_path / "site.csv"
    path.write_text("hours,income,age,year\n40,high,20,2020\n")
    assert ADULTS.load(path).X.tolist() == [[20, 40, 2020]]
    path.write_text("hours,age,years,income\n40,20,2020,high\n")
    with pytest.raises(OstrakaError, match="add the missing column 'year'"):
        ADULTS.load(path)


@pytest.mark.parametrize(("columns", "consent"), [(("a",), ("2", "3")), (("a", "consent"), None)])
def test_a_column_of_consent_holds_levels_unless_it_is_a_feature(
    tmp_path: Path, columns: tuple[str, ...], consent: tuple[str, ...] | None
) -> None:
    path = tmp_path / "site.csv"
    path.write_text("a,consent,label\n1,2,0\n2,3,1\n")
    X = np.array([[0, 0], [9, 9]])[:, : len(columns)]
    data = infer_task(from_arrays(X, np.arange(2), columns=columns), "people").load(path)
    assert (data.columns, data.consent) == (columns, consent)


def test_digits_go_through_a_file(tmp_path: Path) -> None:
    data = digits()
    task = infer_task(data, "digits")
    assert task.input == TensorInput(preprocessing="range", shape=(8, 8), dtype="uint8", range=(0, 16))
    save(data, tmp_path / "digits.npz")
    assert np.array_equal(task.prepare(task.load(tmp_path / "digits.npz").X), data.X / 16)


@pytest.mark.heavy
@pytest.mark.skipif(not SHARED.is_dir(), reason="the research data are not beside this checkout")
@pytest.mark.parametrize("name", ["mnist", "adult", "optdigits", "multilabel_yeast"])
def test_real_files_make_tasks(name: str, tmp_path: Path) -> None:
    train, test = load_splits(SHARED / f"{name}.npz")
    task = infer_task(train, name, test)
    assert task.multi_label == name.startswith("multilabel")
    task.check(train)
    task.check(test)
    write_task(task, tmp_path / "task.toml")
    assert load_task(tmp_path / "task.toml").digest == task.digest
    prepared = task.prepare(test.X)
    assert (prepared.min(), prepared.max()) == (0, 1)


@pytest.mark.parametrize("shape", [(10_000_001,), (10**9,), (1000, 1000, 1000), (1,) * 9])
def test_a_record_has_so_many_values_and_axes(shape: tuple[int, ...]) -> None:
    TensorInput(shape=(10_000_000,), range=(0, 1))
    with pytest.raises(ValidationError):
        TensorInput(shape=shape, range=(0, 1))
