"""Tasks proposed from tables as hospitals have them."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ostraka.common.datasets.reading import Origin, Reading
from ostraka.common.datasets.unreadable import UnreadableValuesError
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task.columns import BooleanColumn
from ostraka.common.task.table_proposal import TaskProposal, propose_task

RECORDS = 60
TABLE = pa.table(
    {
        "patient_id": [f"P{row:03}" for row in range(RECORDS)],
        "age": [20 + row for row in range(RECORDS)],
        "crp": [0.5, None, 9.25] * 20,
        "sex": ["f", "m"] * 29 + ["x", ""],
        "smoker": ["yes", "no", "NA"] * 20,
        "admitted": ["2020-01-01", "2021-12-31"] * 30,
        "notes": [f"note {row % 55}" for row in range(RECORDS)],
        "empty": pa.nulls(RECORDS),
        "diagnosis": ["ill", "well", "well"] * 20,
    }
)


def proposed(table: pa.Table = TABLE, *labels: str, public: bool = True) -> TaskProposal:
    return propose_task(table, labels or ("diagnosis",), "t", source="records.csv", public=public)


def test_the_proposal_of_a_table_reads_it() -> None:
    task = proposed().task()
    assert (task.id, task.ignore, task.classes) == ("patient_id", ("notes", "empty"), ("ill", "well"))
    assert {column.name: column.kind for column in getattr(task.input, "columns", ())} == {
        "age": "number",
        "crp": "number",
        "sex": "category",
        "smoker": "boolean",
        "admitted": "date",
    }
    data = task.read(TABLE)
    assert len(data) == RECORDS
    assert data.X[:3, 0].tolist() == [20, 21, 22]
    assert np.isnan(data.X[:, 1]).sum() == 20
    assert np.isnan(data.X[-1, 2])


def test_of_private_records_ranges_stay_open_and_rare_values_untold() -> None:
    proposal = proposed(public=False)
    columns = {column["name"]: column for column in proposal.fields["input"]["columns"]}
    assert columns["age"] == {"name": "age"}
    assert columns["sex"]["values"] == ["f", "m"]
    assert columns["sex"]["other"] is True
    assert {name for name, found in proposal.found.items() if "min" in found} == {"age", "crp", "admitted"}
    assert any("'sex' has values that fewer than 10" in note for note in proposal.notes)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("diagnosis", "huntington"),
        ("age", None),
        ("age", 700),
        ("crp", -1.0),
        ("sex", "diverse"),
        ("admitted", None),
        ("admitted", "1850-07-01"),
    ],
)
def test_no_single_private_record_decides_what_is_written(column: str, value: Any) -> None:
    changed = TABLE[column].to_pylist()
    changed[1] = value
    other = TABLE.set_column(TABLE.column_names.index(column), column, pa.array(changed))
    assert proposed(other, public=False).fields == proposed(public=False).fields
    assert proposed(other).fill_in() != proposed().fill_in()


def test_one_private_number_that_is_not_whole_changes_nothing() -> None:
    ages = pa.array([20.5, *map(float, range(21, 20 + RECORDS))])
    other = TABLE.set_column(1, "age", ages)
    assert proposed(other, public=False).fields == proposed(public=False).fields
    assert proposed(other).found["age"]["dtype"] == "float32"


def test_classes_that_few_private_records_have_are_left_to_a_person_unnamed() -> None:
    held = ["well"] * 41 + ["ill"] * 10 + ["rare"] * 9
    table = TABLE.set_column(8, "diagnosis", pa.array(held))
    proposal = proposed(table, public=False)
    assert proposal.fields["classes"] == ["ill", "well"]
    (note,) = (note for note in proposal.notes if "lasses" in note)
    assert "fewer than 10 records" in note
    assert "rare" not in note
    assert proposed(table).fields["classes"] == ["ill", "rare", "well"]


@pytest.mark.parametrize(
    ("change", "label", "told", "code"),
    [
        ({}, "diagnosi", "did you mean diagnosis?", ErrorCode.DATA_MISSING),
        ({}, "zzz", "has no column 'zzz': name its label column", ErrorCode.DATA_MISSING),
        ({}, "notes", "55 different values in its label column 'notes': they look like ids", None),
        ({}, "notes", "give --target number, which names values", None),
        ({"diagnosis": ["ill"] * 60}, "diagnosis", "has one class only, ill", None),
    ],
)
def test_labels_that_are_no_classes_are_refused(
    change: dict[str, Any], label: str, told: str, code: ErrorCode | None
) -> None:
    columns = {name: TABLE[name] for name in TABLE.column_names} | change
    with pytest.raises(OstrakaError, match=told.replace("?", r"\?")) as refused:
        proposed(pa.table(columns), label)
    assert refused.value.code is (code or ErrorCode.DATA_LABEL_RANGE)


@pytest.mark.parametrize(
    ("values", "numeric"),
    [
        ([0.5, 1, 0.25] * 20, True),
        ([20 + row for row in range(RECORDS)], True),
        ([row % 21 for row in range(RECORDS)], True),
        ([row % 20 for row in range(RECORDS)], False),
        ([f"{row % 21},5" for row in range(RECORDS)], True),
        ([1, 2] * 30, False),
        ([1, 2, None] * 20, False),
        (["a", "1"] * 30, False),
    ],
)
def test_many_different_numbers_are_a_target_and_few_are_classes(values: list[Any], numeric: bool) -> None:
    table = TABLE.drop(["diagnosis"]).append_column("score", [values])
    proposal = proposed(table, "score")
    assert (proposal.task().target is not None) == numeric == ("classes" not in proposal.fields)
    data = proposal.task().read(table)
    assert data.numeric == numeric


def test_numbers_that_may_be_either_are_asked_about() -> None:
    table = TABLE.append_column("visits", [[row % 5 for row in range(RECORDS)]])
    told = " ".join(proposed(table, "visits").notes)
    assert "5 different numbers in 'visits' are taken for classes" in told
    assert "--target number" in told
    number = propose_task(table, ["visits"], "t", source="t", public=True, target="number").task()
    assert number.target is not None
    assert (number.target.min, number.target.max) == (0, 4)
    for labels in (["age"], ["crp"]):
        with pytest.raises(OstrakaError, match="look like a quantity") as refused:
            propose_task(TABLE, labels, "t", source="t", target="class")
        assert refused.value.code is ErrorCode.DATA_LABEL_RANGE


@pytest.mark.parametrize(
    ("labels", "told", "code"),
    [
        (["sex"], "column 'sex' has 'f'", ErrorCode.DATA_NOT_NUMERIC),
        (["age", "crp"], "--target number is for one label column", ErrorCode.CONFIG_INVALID),
        (["one"], "one number only in 'one', 7", ErrorCode.DATA_LABEL_RANGE),
    ],
)
def test_targets_that_are_no_numbers_are_refused(labels: list[str], told: str, code: ErrorCode) -> None:
    table = TABLE.append_column("one", [[7] * RECORDS])
    with pytest.raises(OstrakaError, match=told) as refused:
        propose_task(table, labels, "t", source="t", target="number")
    assert refused.value.code is code


def test_whole_numbers_that_are_ids_are_no_target() -> None:
    numbers = np.random.default_rng(0).permutation(1000) + 100_000
    table = pa.table({"x": [0.5, 1.5] * 500, "seen": numbers, "patient_id": numbers // 2})
    for label in ("seen", "patient_id"):
        with pytest.raises(OstrakaError) as refused:
            proposed(table, label)
        assert refused.value.code is ErrorCode.DATA_LABEL_RANGE


def test_a_private_target_has_an_open_range_and_a_public_one_the_found() -> None:
    private = proposed(TABLE, "crp", public=False)
    assert private.fields["target"] == {"kind": "number"}
    assert private.found["crp"] == {"min": 0.5, "max": 9.25}
    target = proposed(TABLE, "crp").task().target
    assert target is not None
    assert (target.min, target.max) == (0.5, 9.25)
    assert "20 of 60 records have no number in 'crp', and are left out." in private.notes


def test_a_refusal_of_a_wide_table_stays_short() -> None:
    wide = pa.table({f"x{index}": ["a"] for index in range(1000)})
    with pytest.raises(OstrakaError) as refused:
        proposed(wide, "label")
    assert refused.value.message.endswith("x18, x19 and 980 more.")
    assert len(refused.value.message) < 300


def test_a_table_without_features_is_refused() -> None:
    with pytest.raises(
        OstrakaError,
        match=r"feature \(column 'notes' is text with 55 different values \(kind = \"text\" .*\)\)",
    ):
        proposed(TABLE.select(["notes", "diagnosis"]))
    with pytest.raises(OstrakaError, match="has no records"):
        proposed(TABLE.slice(0, 0))


def test_what_is_odd_is_noted() -> None:
    rows = pa.concat_tables([TABLE, TABLE.slice(0, 2)])
    labels = pa.chunked_array([[*TABLE["diagnosis"].to_pylist(), "ill", "rare"]])
    notes = " ".join(proposed(rows.set_column(8, "diagnosis", labels)).notes)
    assert "Only one record has the class rare." in notes
    assert "1 of 62 records repeat another one." in notes
    assert "Column 'empty' is empty, and is ignored." in notes


def test_a_label_of_several_that_is_neither_0_nor_1_is_told_with_its_line() -> None:
    table = pa.table({"x": [1.0, 2.0], "a": [0, 1], "b": ["1", "yes"]})
    origin = Origin("r.csv", lambda row: row + 2, "line")
    with pytest.raises(OstrakaError, match="'yes' for label 'b' in line 3"):
        propose_task(table, ("a", "b"), "t", source=origin)


def test_several_label_columns_make_a_multi_label_task() -> None:
    table = pa.table({"x": [1.0, 2.0], "a": [0, 1], "b": [1, 1]})
    task = proposed(table, "a", "b").task()
    assert (task.multi_label, task.classes) == (True, ("a", "b"))
    assert task.read(table).labels().tolist() == [[0, 1], [1, 1]]


def many(**columns: list[Any]) -> pa.Table:
    return pa.table({**columns, "y": ["a", "b"] * (len(next(iter(columns.values()))) // 2)})


def drafted(table: pa.Table) -> TaskProposal:
    return proposed(table, "y", public=False)


@pytest.mark.parametrize(("names", "told"), [(("81", "39.4"), True), (("81", "age"), False)])
def test_a_first_record_taken_for_names_is_asked_about(names: tuple[str, str], told: bool) -> None:
    notes = drafted(many(**{name: [row % 7 for row in range(40)] for name in names})).notes
    assert any(note.startswith("Columns are called '81', '39.4': if") for note in notes) is told


def test_row_numbers_are_left_out_and_told() -> None:
    proposal = drafted(many(**{"Unnamed: 0": list(range(40)), "w": [row % 7 for row in range(40)]}))
    assert proposal.fields["ignore"] == ["Unnamed: 0"]
    assert "Column 'Unnamed: 0' numbers the rows, and is ignored." in proposal.notes


def test_the_id_is_that_of_persons_and_repeats_are_told() -> None:
    table = many(
        record_id=list(range(40)),
        ward_id=[1, 2] * 20,
        patient_id=[row // 2 for row in range(40)],
        w=[1, 2] * 20,
    )
    proposal = drafted(table)
    assert (proposal.fields["id"], proposal.fields["ignore"]) == ("patient_id", ["record_id", "ward_id"])
    told = " ".join(proposal.notes)
    assert "'patient_id' is the records' id, and 20 of 20 repeat, at most 2 times" in told
    assert "Named like ids or persons, and ignored: 'record_id', 'ward_id'." in told
    assert proposal.task().persons
    assert "persons = true says that each 'patient_id' is one person" in told


def test_ids_of_visits_are_no_persons() -> None:
    proposal = drafted(many(visit_id=[f"v{row}" for row in range(40)], w=[1, 2] * 20))
    assert (proposal.task().id, proposal.task().persons) == ("visit_id", False)
    assert any("Write persons = true if each 'visit_id' is one person" in note for note in proposal.notes)


def test_zeros_and_ones_are_booleans_gaps_included() -> None:
    proposal = proposed(many(a=[1.0, 0.0, None, 1.0] * 5, b=[0, 1] * 10, c=["1.0", "0.0"] * 10), "y")
    columns = proposal.fill_in()["input"]["columns"]
    assert columns == [
        {"name": "a", "kind": "boolean", "missing": "indicator"},
        {"name": "b", "kind": "boolean"},
        {"name": "c", "kind": "boolean"},
    ]


@pytest.mark.parametrize("gap", [None, "", "NA"])
def test_records_without_a_class_are_counted_and_make_no_class(gap: str | None) -> None:
    table = pa.table({"w": [1, 2, 3] * 20, "y": ["ill", "well", gap] * 20})
    proposal = drafted(table)
    assert proposal.fields["classes"] == ["ill", "well"]
    assert "20 of 60 records have no class in 'y', and are left out." in proposal.notes


def test_days_that_do_not_say_their_century_or_order_are_told() -> None:
    short = drafted(many(d=["07.01.21", "08.02.21"] * 10, w=[1, 2] * 10))
    assert any("'d' has days such as '07.01.21', which do not say their century" in n for n in short.notes)
    assert short.fields["ignore"] == ["d"]
    either = drafted(many(d=["07/01/2021", "08/02/2021"] * 10, w=[1, 2] * 10))
    assert any("'d' has days that fit %d/%m/%Y and %m/%d/%Y" in note for note in either.notes)


@pytest.mark.parametrize("words", [["y", "n", "f"], ["T", "N"], ["1", "true"]])
def test_truth_values_of_several_families_are_refused(words: list[str]) -> None:
    with pytest.raises(UnreadableValuesError, match="which are no one way to say yes and no"):
        BooleanColumn(name="x").read(pa.chunked_array([words]))


def test_a_column_that_the_draft_would_not_read_is_ignored_and_told() -> None:
    proposal = drafted(many(c=["indicator", "b"] * 20, w=[1, 2] * 20))
    assert proposal.fields["ignore"] == ["c"]
    assert any("'c' makes no category" in note for note in proposal.notes)


def test_a_draft_that_does_not_fit_its_own_records_says_so() -> None:
    columns: dict[str, list[Any]] = {"c": ["p", "q"] * 20, "c=p": [1, 2] * 20}
    proposal = drafted(many(**columns))
    (told,) = (note for note in proposal.notes if "does not fit its own records" in note)
    assert "two columns make a feature 'c=p': rename one of them" in told


@pytest.mark.parametrize("name", ["blood\npressure", "a\tb", "a\x07"])
def test_names_that_no_task_can_have_are_refused(name: str) -> None:
    told = "line breaks, tabs or other control characters: rename it in the table"
    with pytest.raises(OstrakaError, match=f"has a column '.*' with {told}"):
        drafted(many(**{name: [5, 6] * 20, "w": [1, 2] * 20}))
    with pytest.raises(OstrakaError, match=f"has a class '.*' with {told}"):
        drafted(pa.table({"w": [1, 2] * 20, "y": [name, "b"] * 20}))


def test_names_that_are_too_long_are_refused_and_shown_in_part() -> None:
    with pytest.raises(
        OstrakaError, match=f"a column '{'x' * 60}' of 250 characters, where a task takes 200"
    ):
        drafted(many(**{"x" * 250: [5, 6] * 20, "w": [1, 2] * 20}))


def test_a_label_is_found_however_its_letters_are_composed() -> None:
    table = pa.table({"w": [1, 2] * 20, "Gr\u00f6\u00dfe": ["a", "b"] * 20})
    assert proposed(table, " Gro\u0308\u00dfe ").fields["label"] == "Gr\u00f6\u00dfe"


@pytest.mark.parametrize(
    ("classes", "alike"),
    [
        (["Yes", "yes", "no"], "'Yes', 'yes'"),
        (["a b", "a\u00a0b", "c"], r"'a b', 'a\xa0b'"),
        (["c", "c\u200b", "d"], r"'c', 'c\u200b'"),
        (["<5", ">5", "+"], None),
        (["01", "1", "10"], "'01', '1'"),
    ],
)
def test_classes_that_look_alike_are_told(classes: list[str], alike: str | None) -> None:
    notes = drafted(pa.table({"w": [1, 2, 3] * 20, "y": classes * 20})).notes
    told = [note for note in notes if "look alike" in note]
    assert told == (
        [f"Classes that look alike: {alike}. Write them in one way if they are one."] if alike else []
    )


def test_rows_are_told_as_the_file_counts_them() -> None:
    table = many(d=["2021-01-01", "2021-02-31"] * 20, w=[1, 2] * 20)
    origin = Origin("r.csv", lambda row: row + 2, "line")
    notes = propose_task(table, ("y",), "t", source=origin).notes
    assert any("'2021-02-31' in 20 rows from line 3 on" in note for note in notes)


def test_an_id_with_gaps_is_ignored_and_told() -> None:
    proposal = drafted(many(patient_id=[None, *range(39)], w=[1, 2] * 20))
    assert ("id" in proposal.fields, proposal.fields["ignore"]) == (False, ["patient_id"])
    assert any("1 of 40 records have no 'patient_id': fill it in" in note for note in proposal.notes)


@pytest.mark.parametrize("other", ["id", "visit_id"])
@pytest.mark.parametrize("person", ["patient", "subject", "Patienten-ID", "Versichertennummer"])
def test_a_persons_column_is_the_id_though_it_repeats(other: str, person: str) -> None:
    table = many(**{other: list(range(40)), person: [row // 4 for row in range(40)], "w": [1, 2] * 20})
    fields = drafted(table).fields
    assert (fields["id"], fields["ignore"]) == (person, [other])


def test_other_ids_stand_for_no_persons_whose_ids_have_gaps() -> None:
    table = many(visit_id=list(range(40)), patient_id=[None, *range(39)], w=[1, 2] * 20)
    fields = drafted(table).fields
    assert ("id" in fields, fields["ignore"]) == (False, ["visit_id", "patient_id"])


@pytest.mark.parametrize(
    "name", ["patient", "surname", "Nachname", "hospital_no", "Fallnummer", "Patienten-ID", "e-mail"]
)
def test_what_persons_are_called_is_never_written(name: str) -> None:
    columns: dict[str, list[Any]] = {name: [f"P{row % 3:03}" for row in range(60)], "k": [1, 2] * 30}
    proposal = drafted(many(**columns))
    assert [column["name"] for column in proposal.fields["input"]["columns"]] == ["k"]
    assert "P00" not in str(proposal)
    assert any(f"'{name}'" in note for note in proposal.notes)


@pytest.mark.parametrize("name", ["patient", "telephone"])
def test_patients_and_controls_are_a_feature(name: str) -> None:
    columns: dict[str, list[Any]] = {name: ["yes", "no"] * 20, "w": [1, 2] * 20}
    proposal = drafted(many(**columns))
    assert proposal.fields["input"]["columns"][0] == {"name": name, "kind": "boolean"}


@pytest.mark.parametrize("name", ["Unnamed: 0", "index", "rowid", "No.", "row_nr", "lfd. Nr.", "#"])
def test_row_numbers_out_of_order_are_neither_persons_nor_features(name: str) -> None:
    numbers = [5 + 13 * row for row in range(120)]
    proposal = drafted(many(**{name: numbers[60:] + numbers[:60], "w": [1, 2] * 60}))
    assert ("id" in proposal.fields, proposal.fields["ignore"]) == (False, [name])
    assert f"Column '{name}' numbers the rows, and is ignored." in proposal.notes


def test_a_label_that_no_record_has_is_told() -> None:
    with pytest.raises(OstrakaError, match=r"No record of records\.csv has a class in 'y'") as refused:
        drafted(pa.table({"w": [1, 2, 3], "y": ["", None, "NA"]}))
    assert refused.value.code is ErrorCode.DATA_MISSING


def test_thousands_of_a_file_of_semicolons_are_not_taken_for_decimals() -> None:
    cells = ["7.500", "12.300"] * 20
    table = pa.table({"x": cells, "z": list(range(40)), "y": ["a", "b"] * 20})
    columns = {
        mark: [
            column["name"]
            for column in propose_task(
                table, ("y",), "t", source="r.csv", public=True, reading=Reading(delimiter=mark)
            ).fields["input"]["columns"]
        ]
        for mark in ",;"
    }
    assert "x" in columns[","]
    assert "x" not in columns[";"]


def test_classes_that_may_say_nothing_are_told() -> None:
    table = pa.table({"w": list(range(40)), "y": (["a", "b"] * 19) + ["n.a.", "Unknown"]})
    told = [note for note in proposed(table, "y").notes if "may say that nobody knows" in note]
    assert [note.split("'")[1] for note in told] == ["n.a.", "Unknown"]


@pytest.mark.parametrize(
    ("labels", "unknown"),
    [
        ([0, 1, -9], "-9"),
        ([0.0, 1.0, 999.0], "999"),
        (["0.0", "1.0", "-9.0"], "-9.0"),
        (["a", "b", "#DIV/0!"], "#DIV/0!"),
        ([-9, -1, 1], ""),
    ],
)
def test_codes_and_errors_among_classes_are_told(labels: list[Any], unknown: str) -> None:
    table = pa.table({"w": list(range(60)), "y": labels * 20})
    told = [note for note in proposed(table, "y").notes if "may say that nobody knows" in note]
    assert [note.split("'")[1] for note in told] == [unknown] * bool(unknown)


@pytest.mark.parametrize(
    ("classes", "note"),
    [
        (["1", "3", "1;3"], "The class '1;3' may be several labels of a record"),
        (["a", "b", "a, b"], "The class 'a, b' may be several labels"),
        (["n/a or less", "carcinoma, ductal", "+"], ""),
        (["1-Mar", "4-8"], "Column 'y' has '1-Mar' in 20 records"),
    ],
)
def test_classes_that_join_labels_or_were_converted_are_told(classes: list[str], note: str) -> None:
    notes = " ".join(drafted(pa.table({"w": list(range(20 * len(classes))), "y": classes * 20})).notes)
    assert note in notes
    assert ("several labels of a record" in notes or "spreadsheets" in notes) is bool(note)


def test_numbers_of_a_target_that_may_say_nothing_are_told() -> None:
    table = pa.table({"w": list(range(60)), "y": [-999.0, *(row + 0.5 for row in range(59))]})
    assert "has -999, which may stand for a missing value" in " ".join(proposed(table, "y").notes)


def test_a_footer_without_a_class_says_nothing_of_columns() -> None:
    table = pa.table(
        {"w": [*map(str, range(40)), "Source: registry"], "y": ["a", "b"] * 20 + [""], "z": [1, 2] * 20 + [3]}
    )
    proposal = proposed(table, "y")
    assert [column["name"] for column in proposal.fields["input"]["columns"]] == ["w", "z"]
    assert "1 of 41 records have no class in 'y', and are left out." in proposal.notes


def test_ids_that_floats_cut_off_are_told_and_no_other_id_is_taken_for_them() -> None:
    cut = [1e17 + 1e3 * row for row in range(40)]
    table = pa.table(
        {"patient_id": cut, "visit_id": list(range(40)), "x": [1, 2, 3, 4] * 10, "y": ["a", "b"] * 20}
    )
    proposal = proposed(table, "y")
    assert "id" not in proposal.fields
    assert any("'patient_id' has 1e+17" in note and "write them as text" in note for note in proposal.notes)


def test_a_reference_to_a_patient_comes_before_the_id_of_what_was_seen() -> None:
    table = pa.table(
        {
            "id": [f"obs-{row}" for row in range(40)],
            "subject.reference": [f"Patient/{row // 2}" for row in range(40)],
            "x": [1, 2, 3, 4] * 10,
            "y": ["a", "b"] * 20,
        }
    )
    fields = proposed(table, "y").fields
    assert (fields["id"], fields["persons"], fields["ignore"]) == ("subject.reference", True, ["id"])


def test_labels_of_two_readings_are_words() -> None:
    table = pa.table({"x": list(range(3, 43)), "y": ["1,234", "999"] * 20})
    assert propose_task(table, ("y",), "t", source="r.csv").fields["classes"] == ["1,234", "999"]
