import hashlib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks import get_data
from benchmarks.get_data import DATA_SETS, MISSING, OTHER, THERE, DataSet, app
from benchmarks.published import DATA
from ostraka.common.console.cli import ExitStatus


def test_a_file_is_there_missing_or_another(tmp_path: Path) -> None:
    one = DataSet("a.npz", hashlib.sha256(b"records").hexdigest(), "somewhere", "records")
    assert one.state(tmp_path) == MISSING
    (tmp_path / "a.npz").write_bytes(b"others")
    assert one.state(tmp_path) == OTHER
    (tmp_path / "a.npz").write_bytes(b"records")
    assert one.state(tmp_path) == THERE


def test_every_set_says_where_people_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = CliRunner().invoke(app, ["--data", str(tmp_path)], env={"COLUMNS": "300"})
    assert result.exit_code == ExitStatus.STOPPED
    assert all(one.file in result.output for one in DATA_SETS)
    assert "https://archive.ics.uci.edu/dataset/2/adult" in result.output
    (tmp_path / "a.npz").write_bytes(b"records")
    there = DataSet("a.npz", hashlib.sha256(b"records").hexdigest(), "somewhere", "records")
    monkeypatch.setattr(get_data, "DATA_SETS", (there,))
    assert CliRunner().invoke(app, ["--data", str(tmp_path)]).exit_code == 0


@pytest.mark.skipif(not DATA.exists(), reason="../shared/data lies not beside the checkout")
def test_published_numbers_were_measured_on_these_files() -> None:
    assert {one.state(DATA) for one in DATA_SETS} <= {THERE, MISSING}
