"""Labels are words; numbers are not places among classes that are words."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ostraka.common.datasets.label_columns import index_labels
from ostraka.common.datasets.table_columns import class_labels
from ostraka.common.errors import ErrorCode, OstrakaError


def indices(classes: tuple[str, ...], *labels: object) -> list[int]:
    found, _ = class_labels(pa.table({"y": list(labels)}), "y", classes, "it")
    assert found is not None
    return list(found)


@pytest.mark.parametrize(
    ("classes", "labels", "expected"),
    [
        (("true", "false"), ("true", "false", "true"), [0, 1, 0]),
        (("true", "false"), (True, False), [0, 1]),
        (("true", "false"), ("True", "FALSE"), [0, 1]),
        (("FALSE", "TRUE"), (True, False), [1, 0]),
        (("yes", "no"), (True, False), [0, 1]),
        (("Yes", "No"), ("yes", "no"), [0, 1]),
        (("1", "0"), ("True", "False"), [0, 1]),
        (("1", "0"), (1, 0), [0, 1]),
        (("no", "yes"), (0, 1), [0, 1]),
        (("2", "1"), (1.0, 2.0), [1, 0]),
        (("2", "1"), ("1,0", "2,0"), [1, 0]),
        (("01", "02"), ("01", "02"), [0, 1]),
        (("NA", "b"), ("NA", "b"), [0, 1]),
        (("1.0", "2.0"), (1.0, 2.0), [0, 1]),
        (("1.0", "2.0"), ("1.0", "2.0"), [0, 1]),
        (("401", "401.0", "401.1"), ("401.1", "401.0", "401"), [2, 1, 0]),
        (("no", "yes"), (1.0, 0.0), [1, 0]),
        (("no", "yes"), ("1.0", "0.0"), [1, 0]),
        (("b", "a"), (" a", "b\u00a0"), [1, 0]),
        (("0.5", "1.5"), ("1.5", "0.5"), [1, 0]),
    ],
)
def test_a_label_is_the_class_that_it_names(
    classes: tuple[str, ...], labels: tuple[object, ...], expected: list[int]
) -> None:
    assert indices(classes, *labels) == expected


@pytest.mark.parametrize(
    ("classes", "labels", "named"),
    [
        (("benign", "malignant"), (True, False), "label 'true' in row 0"),
        (("1", "2", "x"), (1, 2, 3), "label '3' in row 2"),
        (("1", "2", "x"), (0, 0), "label '0' in row 0"),
        (("01", "02"), (1, 2), "label '1' in row 0"),
        (("1", "2"), ("01", "02"), "label '01' in row 0"),
        (("f", "m"), ("f", "M"), r"label 'M' in row 1, but labels are one of f, m \(did you mean m\?\)"),
        (("b", "a"), (5, 6), "label '5' in row 0, but labels are one of b, a"),
        (("no", "yes"), ("no", "maybe", "yes"), "label 'maybe' in row 1"),
    ],
)
def test_what_names_no_class_is_refused(
    classes: tuple[str, ...], labels: tuple[object, ...], named: str
) -> None:
    with pytest.raises(OstrakaError, match=named) as caught:
        indices(classes, *labels)
    assert caught.value.code is ErrorCode.DATA_LABEL_RANGE


@pytest.mark.parametrize(
    ("classes", "labels", "place", "otherwise"),
    [
        *(
            (classes, labels, classes[1], classes[0])
            for classes in (
                *(
                    ("yes", "no"),
                    ("true", "false"),
                    ("t", "f"),
                    ("Y", "N", "unknown"),
                    ("yes", "no", "unknown"),
                ),
                *(("positive", "negative"), ("pos", "neg"), ("sick", "healthy"), ("ja", "nein"), ("+", "-")),
                *(("disease", "no disease"), ("benign", "malignant"), ("stage 1", "stage 2"), ("I", "II")),
            )
            for labels in ((1, 0), ("0", "1"), (1.0, 0.0), ("1", "1"))
        ),
        (("stage 1", "stage 2", "stage 3"), (1, 2, 1), "stage 2", "stage 1"),
        (("I", "II", "III"), ("2", "3"), "III", "II"),
        (("no", "yes", "unknown"), (0, 2), "unknown", "yes"),
        (("sick", "healthy"), (0, 0), "sick", "healthy"),
        (("b", "a"), (0, 2), "b", "a"),
    ],
)
def test_numbers_are_refused_where_classes_are_words(
    classes: tuple[str, ...], labels: tuple[object, ...], place: str, otherwise: str
) -> None:
    with pytest.raises(OstrakaError, match=re.escape(f"'{place}' if classes are counted from 0")) as caught:
        indices(classes, *labels)
    assert f"or '{otherwise}' by its meaning" in caught.value.message
    assert caught.value.code is ErrorCode.DATA_AMBIGUOUS


def test_a_label_of_two_readings_is_refused() -> None:
    assert indices(("1", "2"), "1.000", "2.000") == [0, 1]
    assert indices(("1", "1000", "1.000"), "1", "1.000") == [0, 2]
    with pytest.raises(OstrakaError, match=r"'1\.000' in row 1, which has two readings: 1 or 1000") as caught:
        indices(("1", "10", "100", "1000"), "10", "1.000")
    assert caught.value.code is ErrorCode.DATA_AMBIGUOUS


def test_thousands_are_not_made_classes_of_ones() -> None:
    assert class_labels(pa.table({"y": ["1.000", "2.000"]}), "y", None, "it")[1] == ("1", "2")
    with pytest.raises(OstrakaError, match=r"1\.000 in row 2, but labels are whole numbers"):
        class_labels(pa.table({"y": ["10", "100", "1.000"]}), "y", None, "it")


def test_gaps_are_counted() -> None:
    with pytest.raises(OstrakaError, match="no label in row 1, column 'y', nor in 1 more rows") as caught:
        indices(("a", "b"), "a", "n/a", None)
    assert caught.value.code is ErrorCode.DATA_NAN


def test_truth_values_name_their_classes() -> None:
    table = pa.table(pd.DataFrame({"y": pd.array([True, False], dtype="boolean")}))
    assert class_labels(table, "y", None, "it")[1] == ("false", "true")
    assert class_labels(pa.table({"y": ["True", "False"]}), "y", None, "it")[1] == ("false", "true")
    found, names = index_labels(np.array([True, False]), ("true", "false"), "it")
    assert (found.tolist(), names) == ([0, 1], ("true", "false"))
