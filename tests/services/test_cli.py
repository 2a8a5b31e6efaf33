"""The commands as people type them."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from ostraka.common.datasets import Dataset, digits, from_arrays, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import Task, infer_task, write_task
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.services.cli import app
from ostraka.services.journal.journal import Journal
from tests.services.folders import party_folder
from tests.services.teachers.factories import HERE, counted

FEW = ("--model", "logistic_regression", "--teachers", 3)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a party's folder with a task and the records that table [training] names."""
    training = '[training]\ndata = "records.npz"\nteachers = 2\nmodel = "logistic_regression"\n'
    folder = party_folder(tmp_path / "eretria", training)
    records = digits().take(slice(0, 200))
    save(records, folder / "records.npz")
    write_task(infer_task(records, "digits"), folder / "task.toml")
    return folder


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def told(result: Result) -> Any:
    assert result.exit_code == 0, result.exception
    return json.loads(result.stdout)


def refused(result: Result) -> OstrakaError:
    assert isinstance(result.exception, OstrakaError)
    return result.exception


def altered(site: Path, records: Dataset) -> Path:
    save(records, site / "altered.npz")
    return site / "altered.npz"


def test_training_follows_site_toml(site: Path) -> None:
    trained = told(invoke("train", "--site", site, "--json", "-"))
    assert (trained["teachers"], trained["records"], trained["model"]) == (2, 200, "logistic_regression")
    assert (trained["seed"], trained["classes"]) == (0, 10)
    assert (site / "teachers" / "manifest.json").is_file()


def test_options_come_before_site_toml(site: Path, tmp_path: Path) -> None:
    data, task = tmp_path / "elsewhere.npz", tmp_path / "elsewhere.toml"
    (site / "records.npz").rename(data)
    (site / "task.toml").rename(task)
    trained = told(
        invoke(
            "train",
            "--site",
            site,
            "--data",
            data,
            "--task",
            task,
            "--seed",
            4,
            "--model",
            "mlp",
            "--epochs",
            2,
            "--teachers",
            5,
            "--json",
            "-",
        )
    )
    assert (trained["teachers"], trained["model"], trained["seed"]) == (5, "mlp", 4)


@pytest.mark.heavy
def test_a_training_that_was_killed_goes_on(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 60 teachers 48 at most are trained at a time: the first 30 were finished."""
    model = f"{HERE}:{counted.__name__}"
    options = ("train", "--site", str(site), "--model", model, "--teachers", "60")
    calls = tmp_path / "calls"
    monkeypatch.setenv("CALLS", str(calls))
    killed = subprocess.run(
        [sys.executable, "-m", "ostraka.deploy.cli", "party", *options],
        capture_output=True,
        env=os.environ | {"KILLED_AT": "45"},
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (site / "teachers").exists()
    assert told(invoke("check", "--site", site, "--json", "-"))["teachers"] is None
    calls.unlink()
    assert told(invoke(*options, "--json", "-"))["teachers"] == 60
    assert len(calls.read_text()) == 1 + 30
    assert not (site / "teachers.unfinished").exists()
    assert told(invoke("check", "--site", site, "--json", "-"))["teachers"] == 60


def test_a_sentence_for_people_and_a_file_for_programs(site: Path, tmp_path: Path) -> None:
    result = invoke("train", "--site", site, "--json", tmp_path / "out.json")
    assert "Trained 2 teachers (logistic_regression" in result.stdout
    assert json.loads((tmp_path / "out.json").read_text())["teachers"] == 2


def test_training_tells_how_records_were_read(site: Path) -> None:
    rows = "".join(f"{row},{'ab'[row % 2]}\n" for row in range(40))
    (site / "records.csv").write_text("x,label\n-999,a\n" + rows)
    columns = [{"name": "x", "min": 0, "max": 40, "clip": True}]
    task = {"name": "t", "classes": ["a", "b"], "input": {"kind": "table", "columns": columns}}
    write_task(Task.model_validate(task), site / "task.toml")
    result = invoke("train", "--site", site, "--data", site / "records.csv")
    assert "Column 'x': values beyond its range that count as its end: 1 of 41; has -999" in result.stdout


def test_check_before_and_after_training(site: Path) -> None:
    before = told(invoke("check", "--site", site, "--json", "-"))
    fit = {"task": "digits", "records": 200, "classes": 10}
    assert before == fit | {
        "persons": None,
        "most_records_of_a_person": None,
        "max_votes_per_person": 1,
        "reading": [],
        "teachers": None,
        "head": "",
        "encoder": "",
        "together": "",
        "abstains": [],
        "groups": [],
    }
    invoke("train", "--site", site)
    assert told(invoke("check", "--site", site, "--json", "-"))["teachers"] == 2
    assert "200 records and 2 teachers fit" in invoke("check", "--site", site).stdout


def test_a_head_is_trained_instead_of_the_model_of_site_toml(site: Path) -> None:
    trained = told(invoke("train", "--site", site, "--head", "linear", "--epochs", 2, "--json", "-"))
    assert (trained["model"], trained["head"]) == ("logistic", "linear")
    assert 'add "ckks" to encodings in [policy] of site.toml' in invoke("check", "--site", site).stdout
    with (site / "site.toml").open("a") as file:
        file.write('\n[policy]\nencodings = ["plain", "ckks"]\n')
    assert "vote on encrypted queries too (head linear)" in invoke("check", "--site", site).stdout


def test_check_says_how_teachers_would_vote_on_encrypted_queries(site: Path) -> None:
    invoke("train", "--site", site)
    assert "--head linear" in invoke("check", "--site", site).stdout


def test_a_head_besides_a_model_is_refused(site: Path) -> None:
    error = refused(invoke("train", "--site", site, "--head", "linear", "--model", "mlp"))
    assert error.code is ErrorCode.CONFIG_INVALID
    assert error.message.startswith("--head: a head names its own model")


def test_teachers_are_trained_behind_the_encoder_of_site_toml(site: Path) -> None:
    with (site / "site.toml").open("a") as file:
        file.write('encoder = "tests.common.learning.test_encoders:means"\n')
    trained = told(invoke("train", "--site", site, "--json", "-"))
    assert (trained["encoder"], trained["shape"]) == ("tests.common.learning.test_encoders:means", [16])
    assert told(invoke("check", "--site", site, "--json", "-"))["encoder"] == trained["encoder"]


def test_check_names_the_range_that_is_off(site: Path) -> None:
    records = digits().take(slice(0, 200))
    records.X[5, 12] = 17
    error = refused(invoke("check", "--site", site, "--data", altered(site, records)))
    assert error.code is ErrorCode.TASK_MISMATCH
    assert (error.details["column"], error.details["row"]) == ("x12", "5")
    assert "0 to 16" in error.message


def test_check_names_the_class_that_is_off(site: Path) -> None:
    whole = digits().take(slice(0, 200))
    y = whole.labels().copy()
    y[3] = 10
    records = from_arrays(whole.X.reshape(-1, 8, 8), y)
    error = refused(invoke("check", "--site", site, "--data", altered(site, records)))
    assert error.code is ErrorCode.DATA_LABEL_RANGE
    assert "10" in error.message
    assert "row 3" in error.message


def test_check_names_the_column_that_is_off(site: Path) -> None:
    X, y = np.random.default_rng(0).random((20, 3)), np.arange(20) % 2
    write_task(
        infer_task(from_arrays(X, y, columns=("age", "height", "weight")), "people"), site / "task.toml"
    )
    swapped = from_arrays(X, y, columns=("age", "weight", "height"))
    error = refused(invoke("check", "--site", site, "--data", altered(site, swapped)))
    assert error.code is ErrorCode.TASK_MISMATCH
    assert "from 'weight' on, in another order" in error.message


def test_check_refuses_teachers_of_another_task(site: Path) -> None:
    invoke("train", "--site", site)
    write_task(infer_task(digits().take(slice(0, 200)), "renamed"), site / "task.toml")
    assert refused(invoke("check", "--site", site)).code is ErrorCode.TASK_MISMATCH


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (("--data", "nowhere.npz"), ErrorCode.DATA_MISSING, "nowhere.npz"),
        (("--task", "nowhere.toml"), ErrorCode.CONFIG_INVALID, "nowhere.toml"),
        (("--teachers", 201), ErrorCode.DATA_TOO_FEW, "201"),
        (("--teachers", 1001), ErrorCode.CONFIG_INVALID, "--teachers"),
        (("--model", "oracle"), ErrorCode.CONFIG_INVALID, "--model"),
        (("--head", "cubic"), ErrorCode.CONFIG_INVALID, "--head"),
        (("--model", "no.such:build"), ErrorCode.MODEL_INVALID, "no.such"),
    ],
)
def test_what_cannot_be_trained_is_refused(
    site: Path, options: tuple[object, ...], code: ErrorCode, told: str
) -> None:
    error = refused(invoke("train", "--site", site, *options))
    assert (error.code, told in error.message) == (code, True)
    assert not (site / "teachers").exists()


def test_without_data_it_says_how_to_name_them(site: Path) -> None:
    text = (site / "site.toml").read_text()
    (site / "site.toml").write_text(text.replace('data = "records.npz"\n', ""))
    assert "--data" in refused(invoke("train", "--site", site)).message


def test_an_unknown_key_in_site_toml_is_refused(site: Path) -> None:
    with (site / "site.toml").open("a") as file:
        file.write("teecher = 3\n")
    error = refused(invoke("train", "--site", site))
    assert error.code is ErrorCode.CONFIG_INVALID
    assert "teecher" in error.message


@pytest.mark.heavy
def test_a_refusal_is_one_line_and_exit_2(site: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "ostraka.deploy.cli",
        "party",
        "check",
        "--site",
        str(site),
        "--data",
        "nowhere.npz",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("error [data.missing]: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.heavy
def test_help_needs_no_heavy_library() -> None:
    code = "import sys, ostraka.services.cli; print(sorted({'torch', 'sklearn', 'skops'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_audit_head_that_was_kept_is_written(site: Path, tmp_path: Path) -> None:
    out = tmp_path / "head.pb"
    assert refused(invoke("audit-head", "--site", site, "--out", out)).code is ErrorCode.DATA_MISSING
    assert not out.exists()
    head = common_pb2.AuditHead(sequence=7, hash=bytes(32))
    with Journal(site / "journal.db") as journal:
        journal.keep_head(head)
    assert invoke("audit-head", "--site", site, "--out", out).exit_code == 0
    assert common_pb2.AuditHead.FromString(out.read_bytes()) == head


@pytest.mark.heavy
def test_teachers_of_several_labels_are_trained_and_checked(site: Path) -> None:
    pixels = digits().take(slice(0, 200))
    several = from_arrays(pixels.X.reshape(-1, 8, 8), np.eye(10, dtype=int)[pixels.labels()])
    save(several, site / "records.npz")
    write_task(infer_task(several, "digits"), site / "task.toml")
    assert told(invoke("train", "--site", site, "--json", "-"))["multi_label"] is True
    found = told(invoke("check", "--site", site, "--json", "-"))
    groups = [{"name": "all", "records": 200, "teachers": 2, "copies": 1}]
    fit = {"task": "digits", "records": 200, "classes": 10, "teachers": 2}
    fit |= {"persons": None, "most_records_of_a_person": None, "max_votes_per_person": 1, "reading": []}
    assert found == fit | {"head": "", "encoder": "", "together": "", "abstains": [], "groups": groups}


def with_consent(site: Path) -> None:
    """Half of the records of the site are at level low, half at level high, which is worth twice as much."""
    records = replace(digits().take(slice(0, 200)), consent=("low", "high") * 100)
    save(records, site / "records.npz")
    with (site / "site.toml").open("a") as file:
        file.write("[training.consent]\nlow = 1.0\nhigh = 2.0\n")


@pytest.mark.parametrize(
    ("variant", "teachers", "high", "low"),
    [("none", 2, (2, 1), (2, 1)), ("upsampling", 3, (3, 2), (3, 1)), ("weighting", 2, (1, 1), (1, 1))],
)
def test_teachers_of_several_consent_levels_are_trained_and_shown(
    site: Path, variant: str, teachers: int, high: tuple[int, int], low: tuple[int, int]
) -> None:
    with_consent(site)
    trained = told(invoke("train", "--site", site, "--variant", variant, "--json", "-"))
    groups = [
        {"name": name, "records": 100, "teachers": count, "copies": copies}
        for name, (count, copies) in (("high", high), ("low", low))
    ]
    assert (trained["teachers"], trained["groups"], trained["variant"]) == (teachers, groups, variant)
    assert trained["mixed"] is (variant != "weighting")
    assert told(invoke("check", "--site", site, "--json", "-"))["groups"] == groups
    line = f"group high: 100 records, {high[0]} teachers, {high[1]} to a record"
    assert line in invoke("check", "--site", site).stdout


def test_a_variant_that_cannot_be_trained_says_what_is_missing(site: Path) -> None:
    error = refused(invoke("train", "--site", site, "--variant", "vanishing"))
    assert (error.code, "`consent`" in error.message) == (ErrorCode.DATA_MISSING, True)
    error = refused(invoke("train", "--site", site, "--variant", "shouting"))
    assert (error.code, "--variant" in error.message) == (ErrorCode.CONFIG_INVALID, True)
    with_consent(site)
    with (site / "site.toml").open("a") as file:
        file.write("Unsure = 1.0\n")
    error = refused(invoke("train", "--site", site))
    assert (error.code, "Unsure" in error.message) == (ErrorCode.CONFIG_INVALID, True)
    assert not (site / "teachers").exists()


def test_ray_is_for_teachers_that_are_trained_alone(site: Path) -> None:
    error = refused(invoke("train", "--site", site, "--on", "ray", "--training", "dp-ttac"))
    assert error.code is ErrorCode.CONFIG_INVALID
    assert "trains alone" in error.message


def test_ray_that_is_not_installed_is_one_sentence(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "ostraka.services.teachers.on_ray", raising=False)
    monkeypatch.setitem(sys.modules, "ray", None)
    error = refused(invoke("train", "--site", site, *FEW, "--on", "ray"))
    assert error.code is ErrorCode.CONFIG_INVALID
    assert "pip install ostraka[ray]" in error.message
    assert not (site / "teachers").exists()
