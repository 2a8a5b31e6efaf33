"""`ostraka task` as a person runs it on a table."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ostraka.common.datasets import from_arrays, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import infer_task, load_task, write_task
from ostraka.deploy.task.cli import app

ROWS = "".join(
    f"P{row};{20 + row};{'fm'[row % 2]};{'' if row % 5 else '1,5'};{'ill' if row % 3 else 'well'}\n"
    for row in range(40)
)


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "records.csv"
    path.write_text("patient id;age;sex;crp;diagnosis\n" + ROWS, encoding="utf-8-sig")
    return path


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def refused(told: str, *arguments: object) -> OstrakaError:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert isinstance(result.exception, OstrakaError)
    assert told in result.exception.message
    return result.exception


def test_a_task_is_proposed_completed_checked_and_shown(records: Path, tmp_path: Path) -> None:
    out = tmp_path / "task.toml"
    told = run("init", records, "--label", "diagnosis", "--out", out)
    for line in (
        "Open ranges: age, crp.",
        "Only whole numbers: age.",
        "Missing values: crp.",
        "--from-public does not",
    ):
        assert line in told
    assert "Column 'patient id' is the records' id" in told
    refused("the range of 'age', 'crp' is open", "check", out, records)
    text = out.read_text()
    text = text.replace('name = "age" }', 'name = "age", dtype = "int32", min = 0, max = 120 }')
    out.write_text(
        text.replace('name = "crp" }', 'name = "crp", missing = "indicator", min = 0, max = 500 }')
    )
    assert "40 records, 3 columns, 6 features; labels: 26 ill, 14 well" in run("check", out, records)
    checked = json.loads(run("check", out, records, "--json", "-"))
    assert (checked["records"], checked["labels"]) == (40, {"ill": 26, "well": 14})
    shown = run("show", out)
    for line in ("id: patient id", "category, one of f, m, other", "0 to 500, missing: a feature says so"):
        assert line in shown
    assert json.loads(run("show", out, "--json", "-"))["features"] == [
        *("age", "sex=f", "sex=m", "sex=other", "crp", "crp is missing")
    ]


def test_a_number_is_proposed_completed_checked_and_shown(records: Path, tmp_path: Path) -> None:
    out = tmp_path / "task.toml"
    told = run("init", records, "--label", "age", "--out", out)
    assert "a number in 'age'" in told
    assert "Open ranges: age, crp." in told
    refused("the range of the target, 'crp' is open", "check", out, records)
    text = out.read_text()
    assert "[target]  # write min and max" in text
    text = text.replace('kind = "number"\n', 'kind = "number"\nmin = 0\nmax = 120\nunit = "years"\n')
    out.write_text(
        text.replace('name = "crp" }', 'name = "crp", missing = "indicator", min = 0, max = 500 }')
    )
    assert "numbers in 'age': 20 to 59, 39.5 on average" in run("check", out, records)
    checked = json.loads(run("check", out, records, "--json", "-"))
    assert (checked["labels"], checked["numbers"]) == ({}, {"least": 20, "mean": 39.5, "most": 59})
    assert "records: a number a record, 0 to 120 years" in run("show", out)
    assert json.loads(run("show", out, "--json", "-"))["target"]["max"] == 120
    run("init", records, "--label", "age", "--out", tmp_path / "public.toml", "--from-public")
    assert load_task(tmp_path / "public.toml").target is not None


def test_tasks_of_arrays_and_of_several_labels_are_shown_and_checked(tmp_path: Path) -> None:
    X, y = np.arange(24).reshape(6, 2, 2) / 24, np.array([[0, 1], [1, -1]] * 3)
    data = from_arrays(X, y, classes=("ill", "old"))
    save(data, tmp_path / "records.npz")
    write_task(infer_task(data, "images"), tmp_path / "task.toml")
    shown = run("show", tmp_path / "task.toml")
    assert "2 labels, any number of which a record has: ill, old" in shown
    assert "records: arrays of shape 2x2, float32, 0 to 0.958333" in shown
    assert "labels: 3 ill, 3 old" in run("check", tmp_path / "task.toml", tmp_path / "records.npz")
    save(replace(data, y=None), tmp_path / "pool.npz")
    assert "no labels" in run("check", tmp_path / "task.toml", tmp_path / "pool.npz")
    refused("is not a table", "init", tmp_path / "pool.npz", "--label", "x", "--out", tmp_path / "new.toml")


def test_names_of_columns_drive_no_terminal(tmp_path: Path) -> None:
    path = tmp_path / "records.csv"
    path.write_text("a\x1b[31mb,label\n1,x\n2,y\n3,y\n")
    arguments = ["init", str(path), "--label", "label", "--out", str(tmp_path / "task.toml")]
    refused = CliRunner().invoke(app, arguments, color=True).exception
    assert isinstance(refused, OstrakaError)
    assert r"has a column 'a\x1b[31mb' with line breaks" in refused.message


def test_classes_of_few_private_records_are_left_to_a_person(records: Path, tmp_path: Path) -> None:
    rows = records.read_text(encoding="utf-8-sig")
    records.write_text(rows.replace("P1;21;m;;ill", "P1;21;m;;huntington"), encoding="utf-8-sig")
    out = tmp_path / "task.toml"
    told = run("init", records, "--label", "diagnosis", "--out", out)
    assert "Classes that fewer than 10 records have are left out" in told
    assert "huntington" not in told + out.read_text()
    assert 'classes = ["ill", "well"]' in out.read_text()


def test_public_records_give_ranges(records: Path, tmp_path: Path) -> None:
    out = tmp_path / "task.toml"
    summary = json.loads(
        run("init", records, "--label", "diagnosis", "--out", out, "--from-public", "--json", "-")
    )
    assert (summary["open"], summary["columns"]) == ([], ["age", "sex", "crp"])
    assert (summary["whole"], summary["missing"]) == ([], [])
    assert len(load_task(out).load(records)) == 40


def test_what_cannot_be_done_is_refused_and_writes_nothing(records: Path, tmp_path: Path) -> None:
    out = tmp_path / "task.toml"
    refused("did you mean diagnosis?", "init", records, "--label", "diagnose", "--out", out)
    gone = refused("There is no data file", "init", tmp_path / "gone.csv", "--label", "x", "--out", out)
    assert gone.code is ErrorCode.DATA_MISSING
    assert not out.exists()
    out.write_text("")
    refused("exists: name another file", "init", records, "--label", "diagnosis", "--out", out)
    refused("There is no data file", "init", tmp_path / "gone.csv", "--label", "x", "--out", out)
    refused("There is no task file", "show", tmp_path / "no.toml")


def test_a_draft_of_many_columns_says_how_to_give_them_a_range(tmp_path: Path) -> None:
    path = tmp_path / "genes.csv"
    header = ",".join(f"gene{index}" for index in range(200))
    rows = "".join(",".join(map(str, range(row, row + 400, 2))) + f",{'ab'[row % 2]}\n" for row in range(30))
    path.write_text(f"{header},y\n{rows}")
    out = tmp_path / "task.toml"
    told = run("init", path, "--label", "y", "--out", out)
    assert "gene18, gene19 and 180 more. Write the min" in told
    assert "write them in [input.table.defaults]" in told
    refused("the range of 'gene0', 'gene1'", "check", out, path)
    commented = out.read_text().split("# [input.table.defaults]")[0]
    out.write_text(commented + "[input.table.defaults]\nmin = 0\nmax = 1000\n")
    assert "30 records, 200 columns" in run("check", out, path)


def test_labels_may_be_parted_by_commas(tmp_path: Path) -> None:
    path = tmp_path / "records.csv"
    path.write_text("age,sepsis,death\n" + "30,1,0\n40,0,1\n50,1,1\n" * 10)
    run("init", path, "--label", "sepsis,death", "--out", tmp_path / "task.toml", "--from-public")
    task = load_task(tmp_path / "task.toml")
    assert (task.classes, task.multi_label) == (("sepsis", "death"), True)
    path.write_text('age,"a,b",y\n' + "30,1,0\n40,0,1\n50,1,1\n" * 10)
    run("init", path, "--label", "a,b", "--out", tmp_path / "one.toml", "--from-public")
    assert load_task(tmp_path / "one.toml").label == "a,b"
