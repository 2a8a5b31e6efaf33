"""`ostraka party train` where table [training] names features that all sites know."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ostraka.common.datasets import digits, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import infer_task, write_task
from ostraka.services.cli import app
from tests.services.folders import party_folder


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a party's folder with its records, and those whose features all sites know."""
    training = '[training]\ndata = "records.npz"\nshared_features = "features.npz"\n'
    folder = party_folder(tmp_path / "eretria", training + 'teachers = 2\nmodel = "mlp"\nepochs = 3\n')
    records = digits().take(slice(0, 400))
    save(records.take(slice(0, 60)), folder / "records.npz")
    save(replace(records, y=None), folder / "features.npz")
    write_task(infer_task(records, "digits"), folder / "task.toml")
    return folder


def train(site: Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["train", "--site", str(site), "--json", "-", *options])


def test_teachers_learn_from_them(site: Path) -> None:
    result = train(site)
    assert result.exit_code == 0, result.exception
    manifest = json.loads(result.stdout)
    assert manifest["shared_features"]
    assert manifest["records"] == 60
    assert (site / "teachers" / "weights.safetensors").is_file()
    assert not (site / "teachers.unfinished").exists()


@pytest.mark.parametrize("options", [("--on", "ray"), ("--training", "ttac"), ("--model", "file:exported")])
def test_only_teachers_trained_alone_and_here_do(site: Path, options: tuple[str, str]) -> None:
    _refused(train(site, *options), ErrorCode.CONFIG_INVALID, "shared_features")


def test_a_missing_file_is_told(site: Path) -> None:
    (site / "features.npz").unlink()
    _refused(train(site), ErrorCode.DATA_MISSING)


def _refused(result: Result, code: ErrorCode, told: str = "") -> None:
    assert isinstance(result.exception, OstrakaError)
    assert (result.exception.code, told in result.exception.message) == (code, True)
