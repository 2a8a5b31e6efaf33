"""What a person's records may change is counted by the task's id, and refused beyond what is declared."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from ostraka.common.datasets import from_arrays, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import NumberColumn, TableInput, Task, write_task
from ostraka.services.admission.manifest_terms import Declared, declaration
from ostraka.services.cli import app
from ostraka.services.teachers.manifest import TeachersManifest
from tests.services.folders import party_folder

TASK = Task(
    name="t",
    id="pid",
    persons=True,
    classes=("a", "b"),
    input=TableInput(columns=(NumberColumn(name="x", min=0, max=60),)),
)


def party(root: Path, more: str = "", task: Task = TASK) -> Path:
    """Return the folder of a party of 60 records of 20 persons."""
    training = '[training]\ndata = "records.npz"\nteachers = 4\nmodel = "logistic_regression"\n'
    folder = party_folder(root / "eretria", training + more)
    X = np.arange(60, dtype=np.float32)[:, None]
    data = from_arrays(X, np.arange(60) % 2, columns=("x",), classes=TASK.classes)
    save(data.with_ids([f"p{row // 3}" for row in range(60)]), folder / "records.npz")
    write_task(task, folder / "task.toml")
    return folder


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def checked(folder: Path) -> tuple[str, dict[str, Any]]:
    said = invoke("check", "--site", folder)
    assert said.exit_code == 0, said.exception
    return said.stdout, json.loads(invoke("check", "--site", folder, "--json", "-").stdout)


def test_a_party_is_told_how_many_records_a_person_has(tmp_path: Path) -> None:
    said, found = checked(party(tmp_path))
    assert "60 records of 20 persons by 'pid', at most 3 records each" in said
    assert (found["persons"], found["most_records_of_a_person"], found["max_votes_per_person"]) == (20, 3, 1)


def test_without_an_id_each_record_is_taken_for_a_person(tmp_path: Path) -> None:
    said, found = checked(party(tmp_path, task=TASK.model_copy(update={"id": None, "persons": False})))
    assert "each taken for a person of its own: name the column" in said
    assert found["persons"] is None


def test_a_party_is_told_how_its_table_was_read(tmp_path: Path) -> None:
    folder = party(tmp_path)
    table = folder / "records.csv"
    site = folder / "site.toml"
    site.write_text(site.read_text().replace("records.npz", table.name))
    table.write_text("pid;x;label\n" + "p1;7,5;a\np2;6;b\n" * 5 + "p3;5;\n")
    said, found = checked(folder)
    assert "  Left out: 1 of 11 records, which have no class in 'label'." in said
    assert "  Column 'x': numbers written with decimal comma." in said
    assert f"  {found['reading'][1]}" in said
    table.write_text("pid,x\n" + "p1,7\np2,6\n" * 5)
    refused = invoke("check", "--site", folder).exception
    assert isinstance(refused, OstrakaError)
    assert f"{table} has no labels: add 'label'" in refused.message


def test_teachers_of_whole_persons_say_so_to_the_guardian(tmp_path: Path) -> None:
    folder = party(tmp_path)
    trained = invoke("train", "--site", folder)
    assert "on 60 records of 20 persons, each with one teacher's" in trained.stdout
    manifest = TeachersManifest.load(folder / "teachers")
    assert manifest.persons == 20
    assert set(manifest.slice_sizes) == {15}
    assert declaration(manifest, "eretria", 1).whole_persons
    assert Declared.of(manifest, 1).whole_persons


def test_ids_that_nobody_calls_persons_keep_records_together_and_promise_nothing(tmp_path: Path) -> None:
    folder = party(tmp_path, task=TASK.model_copy(update={"persons": False}))
    said, found = checked(folder)
    assert "60 records of 20 ids by 'pid', at most 3 records each, and nobody says that each is" in said
    assert found["persons"] is None
    trained = invoke("train", "--site", folder)
    assert "on 60 records of 20 ids, each with one teacher's" in trained.stdout
    manifest = TeachersManifest.load(folder / "teachers")
    assert set(manifest.slice_sizes) == {15}
    assert not declaration(manifest, "eretria", 1).whole_persons
    assert not Declared.of(manifest, 1).whole_persons


def test_teachers_of_a_version_that_asked_nobody_promise_persons_nothing(tmp_path: Path) -> None:
    folder = party(tmp_path)
    invoke("train", "--site", folder)
    path = folder / "teachers" / "manifest.json"
    old = json.loads(path.read_text())
    del old["whole_persons"]
    path.write_text(json.dumps(old))
    manifest = TeachersManifest.load(folder / "teachers")
    assert manifest.persons == 20
    assert not declaration(manifest, "eretria", 1).whole_persons


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('[policy]\nlabel_counts = "record"\n', "label_counts in [policy] has each record count"),
        (
            "[policy]\nrandomized_labels = true\n[party]\nmax_votes_per_person = 2\n",
            "randomized_labels in [policy] has each record count",
        ),
    ],
)
@pytest.mark.parametrize("command", ["check", "train"])
def test_records_that_count_one_by_one_need_as_many_votes(
    tmp_path: Path, command: str, more: str, said: str
) -> None:
    refused = invoke(command, "--site", party(tmp_path, more)).exception
    assert isinstance(refused, OstrakaError)
    assert refused.code is ErrorCode.CONFIG_INVALID
    assert "One person has 3 records (by 'pid'), and max_votes_per_person" in refused.message
    assert f"{said}: set it to 3" in refused.message


def test_so_many_votes_are_enough(tmp_path: Path) -> None:
    more = '[policy]\nlabel_counts = "record"\n[party]\nmax_votes_per_person = 3\n'
    assert checked(party(tmp_path, more))[1]["max_votes_per_person"] == 3


def test_a_party_is_told_how_many_records_sums_are_over(tmp_path: Path) -> None:
    folder = party(tmp_path, '[policy]\nmechanisms = ["sums"]\n[party]\nmax_votes_per_person = 2\n')
    assert "Sums are over at most 2 records of each, 40 of 60" in checked(folder)[0]


def test_training_with_others_needs_as_many_votes_as_a_person_has_records(tmp_path: Path) -> None:
    folder = party(tmp_path)
    refused = invoke("train", "--site", folder, "--training", "dp-ttac", "--model", "logistic").exception
    assert isinstance(refused, OstrakaError)
    assert "training with others has each record count: set it to 3" in refused.message


def test_teachers_of_records_are_told_to_be_trained_again(tmp_path: Path) -> None:
    folder = party(tmp_path)
    invoke("train", "--site", folder)
    assert "train` again" not in checked(folder)[0]
    manifest = TeachersManifest.load(folder / "teachers")
    manifest.model_copy(update={"whole_persons": False}).save(folder / "teachers")
    assert "Its teachers were not trained on whole persons yet" in checked(folder)[0]


def test_of_exported_models_the_party_gives_its_word(tmp_path: Path) -> None:
    folder = party(tmp_path)
    site = folder / "site.toml"
    site.write_text(site.read_text().replace('"logistic_regression"', '"file:models"'))
    assert "went into one exported model is this party's word" in checked(folder)[0]
