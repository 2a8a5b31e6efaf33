"""Tables that no advice can be made of, each refused in a sentence that says what to do."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.deploy.advice.records import MAX_FEATURES, MAX_RECORDS, MIN_RECORDS, AdviceRecords
from tests.deploy.advice.tables import diagnosed, features, table

ROWS = 200


def refused(rows: pa.Table, *labels: str) -> OstrakaError:
    with pytest.raises(OstrakaError) as caught:
        AdviceRecords.read(rows, labels or ("diagnosis",))
    return caught.value


def test_a_table_of_one_class_teaches_nothing() -> None:
    error = refused(table(features(ROWS), diagnosis=np.repeat("ill", ROWS)))
    assert error.code is ErrorCode.DATA_LABEL_RANGE


def test_a_table_below_the_least_number_of_records_is_refused() -> None:
    error = refused(diagnosed(20))
    assert error.code is ErrorCode.DATA_TOO_FEW
    assert "has 20 labelled records, and advice needs 60" in error.message
    assert len(AdviceRecords.read(diagnosed(MIN_RECORDS), ["diagnosis"])) == MIN_RECORDS
    assert refused(diagnosed(MIN_RECORDS - 1)).code is ErrorCode.DATA_TOO_FEW


def test_a_table_of_too_many_columns_is_refused_before_they_are_looked_at() -> None:
    wide = pa.table({f"c{place}": [0.5, 1.5] for place in range(10_000)} | {"diagnosis": ["a", "b"]})
    error = refused(wide)
    assert error.code is ErrorCode.DATA_SHAPE
    assert f"10,000 features, and advice tries up to {MAX_FEATURES}" in error.message


def test_a_category_counts_as_its_features() -> None:
    rows = 60 * MAX_FEATURES // 50
    words = np.array([f"w{row % 50}" for row in range(rows)])
    columns = {f"c{place}": np.roll(words, place) for place in range(MAX_FEATURES // 50 + 1)}
    error = refused(pa.table(columns | {"diagnosis": np.where(np.arange(rows) % 3, "ill", "well")}))
    assert error.code is ErrorCode.DATA_SHAPE


@pytest.mark.parametrize("code", ["words", "numbers"])
def test_a_column_that_is_the_label_in_other_words_is_named(code: str) -> None:
    rows = diagnosed(ROWS)
    ill = np.array(rows["diagnosis"]) == "ill"
    leak = (
        np.where(ill, "E11", "none") if code == "words" else np.where(ill, 7.5, 2.5) + np.arange(ROWS) / 1e3
    )
    error = refused(rows.append_column("icd", pa.array(leak)))
    assert error.code is ErrorCode.DATA_LABEL_RANGE
    assert "'icd' tells what is to be learned alone" in error.message
    assert "--leave-out" in error.message


def test_a_number_on_another_scale_is_named() -> None:
    X = features(ROWS)
    error = refused(table(X, price=1000 * X[:, 2] + 17), "price")
    assert "'x2' tells" in error.message


def test_what_is_left_out_leaks_nothing_and_must_be_there() -> None:
    rows = diagnosed(ROWS)
    leaking = rows.append_column("icd", rows["diagnosis"])
    assert AdviceRecords.read(leaking, ["diagnosis"], leave_out=["icd"]).X.shape == (ROWS, 4)
    with pytest.raises(OstrakaError) as caught:
        AdviceRecords.read(leaking, ["diagnosis"], leave_out=["icd10"])
    assert caught.value.code is ErrorCode.DATA_MISSING


def test_whole_numbers_are_a_quantity_where_somebody_says_so() -> None:
    rows = table(features(ROWS), visits=np.arange(ROWS) % 5)
    assert AdviceRecords.read(rows, ["visits"]).kind == "classes"
    assert AdviceRecords.read(rows, ["visits"], target="number").kind == "number"


def test_how_the_table_was_read_is_told_once(tmp_path: Path) -> None:
    rows = diagnosed(ROWS)
    path = tmp_path / "records.csv"
    lines = [";".join(map(str, row.values())).replace(".", ",") for row in rows.to_pylist()]
    first = lines[0].split(";", 1)[1]
    path.write_text("\n".join([";".join(rows.column_names), f"-999;{first}", *lines[1:]]))
    notes = AdviceRecords.read(path, ["diagnosis"]).notes
    assert notes[0] == "Read as UTF-8, its cells parted by semicolons."
    assert "Column 'x1': numbers written with decimal comma." in notes
    assert "Column 'x0': numbers written with decimal comma." in notes
    assert sum("has -999, which may stand for a missing value" in note for note in notes) == 1


def test_a_large_table_is_sampled_and_its_rows_are_told() -> None:
    rows = diagnosed(MAX_RECORDS + 500)
    whole = AdviceRecords.read(rows, ["diagnosis"])
    sample = whole.sample(0)
    assert (len(sample), sample.rows) == (MAX_RECORDS, MAX_RECORDS + 500)
    assert len(whole.sample(1)) == MAX_RECORDS
    assert not np.array_equal(whole.sample(1).X, sample.X)
