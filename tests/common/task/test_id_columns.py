"""Which columns tell records apart, by their names and by their values."""

import pyarrow as pa
import pytest

from ostraka.common.task.id_columns import IdKind, are_given, id_kind, is_row_number, may_be_id, tells_persons

ROWS = pa.chunked_array([range(200)])


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (
            "patient Proband Patientennummer patient_id PatientID patientid"
            " Patient-Nr pidnum SEQN seqn mrn id_patient subjid USUBJID",
            IdKind.PERSON,
        ),
        ("id ID record_id uuid", IdKind.RECORD),
        ("site_id hadm_id studyid treat_id hospital_no Fallnr", IdKind.OTHER),
        (
            "humid covid steroid uric_acid age num_siblings number_of_children body_mass_index x"
            " visit_no case drug_name",
            None,
        ),
    ],
)
def test_names_say_what_is_told_apart(names: str, kind: IdKind | None) -> None:
    assert {name: id_kind(name) for name in names.split()} == dict.fromkeys(names.split(), kind)


def test_persons_are_told_apart_by_names_that_mean_nothing_else() -> None:
    persons = ["patient_id", "patno", "SubjectID", "participant_id", "pidnum", "mrn"]
    others = ["id", "record_id", "visit_id", "sample_id", "case_id", "caseid", "PartNr", "p_id", "age"]
    assert [name for name in (*persons, *others) if tells_persons(name)] == persons


def test_some_names_are_of_ids_where_all_values_differ() -> None:
    assert all(may_be_id(name) for name in ("visit_no", "key", "participant"))
    assert not may_be_id("age")


@pytest.mark.parametrize("name", ["Unnamed: 0", "X", "rownames", "V1", "__index_level_0__"])
def test_rows_are_counted_by_columns_as_pandas_and_r_call_them(name: str) -> None:
    assert is_row_number(name, ROWS)
    assert is_row_number(name, ROWS.cast(pa.string()))
    assert is_row_number(name, pa.chunked_array([range(1, 9)]))
    assert is_row_number(name, pa.chunked_array([[4, 2, 3]])) is (name not in ("X", "V1"))
    assert not is_row_number(name, pa.chunked_array([[0, 1, None]]))


def test_a_measured_column_counts_no_rows() -> None:
    assert not is_row_number("age", ROWS)
    assert not is_row_number("x", ROWS)
    assert not is_row_number("index", pa.chunked_array([[3, 4, 3]]))
    assert not is_row_number("NO", ROWS)


def test_whole_numbers_that_differ_against_all_chance_were_given() -> None:
    sparse = pa.chunked_array([[row * row * 1000 for row in range(200)]])
    assert are_given(pa.chunked_array([[93_703 + 4 * row for row in range(200)]]))
    assert not are_given(sparse)
    assert not are_given(pa.chunked_array([[*range(199), 5]]))
    assert not are_given(pa.chunked_array([[5 + 4 * row for row in range(99)]]))
    assert not are_given(ROWS)
    assert not are_given(pa.chunked_array([[f"0{row}" for row in range(200)]]))
