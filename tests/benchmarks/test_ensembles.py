import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.serving import __main__ as serving
from benchmarks.serving import ensembles
from benchmarks.serving.ensembles import Case, Cost, Measured

CASE = Case("logistic", 1, ("loop", "workers", "products"))


def test_layouts_are_compared_with_the_loop_of_the_same_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ensembles, "RECORDS", 20)
    monkeypatch.setattr(ensembles, "QUERIES", 7)
    monkeypatch.setattr(serving, "CASES", (CASE,))
    target = tmp_path / "measured.json"
    arguments = ["--only", "ensembles", "--teachers", "2", "--repeats", "1", "--json", str(target)]
    told = CliRunner().invoke(serving.app, arguments, catch_exceptions=False)
    assert told.exit_code == 0
    measured = json.loads(target.read_text())["ensembles"]
    assert [one["layout"] for one in measured] == list(CASE.layouts)
    assert all(one["loop"] == measured[0]["costs"] for one in measured)
    assert measured[0]["times_faster"] == {"training": 1, "prediction": 1}
    assert [one["chosen"] for one in measured] == [[], [], ["training", "prediction"]]
    assert "2 teachers of 20 images, 7 queries" in told.stdout


def test_ratios_are_of_seconds_by_the_clock() -> None:
    loop, cost = Cost(6.0, 1.0), Cost(1.5, 2.0)
    one = Measured(
        "mlp", "products", (), {"training": cost, "prediction": loop}, {"training": loop, "prediction": loop}
    )
    assert one.times_faster("training") == 4.0
    assert one.times_faster("prediction") == 1.0
