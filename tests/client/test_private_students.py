"""A student by DP-SGD from a run's folder to its reports: what it promises is told wherever it goes."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ostraka.client.cli.query import app
from ostraka.client.report.page import render
from ostraka.client.report.run_report import report
from ostraka.client.session.run_state import RunStore, load_state
from ostraka.client.students.files import load_student
from ostraka.client.students.trainers import Choice
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Interactive, Mechanism, NoiseCluster
from tests.client.test_retraining import POOL, SKIPPED, Bench, bench

__all__ = ["bench"]


@pytest.mark.heavy
def test_it_is_trained_by_a_command_and_told_by_file_screen_and_page(bench: Bench) -> None:
    files = [(f"--{name}", getattr(bench, name)) for name in ("site", "run", "pool", "test")]
    words = ["--labelled", bench.own, "--student", "dp-sgd", "--student-epsilon", 8, "--json", "-"]
    words += [word for option in files for word in option]
    trained = CliRunner().invoke(app, ["retrain", *map(str, words)])
    assert trained.exit_code == 0, trained.output
    figures = json.loads(trained.stdout)
    promised = figures["guarantee"]
    assert (promised["delta"], promised["steps"]) == (1e-5, 400)
    assert 7.9 < promised["epsilon"] <= 8
    assert figures["released"] == POOL - SKIPPED
    assert figures["after"]["accuracy"] > 0.75
    assert asdict(load_student(Path(figures["path"])).guarantee_) == promised
    assert json.loads((bench.run / "student.json").read_text())["guarantee"] == promised
    said = " ".join(trained.stderr.split())
    assert f"epsilon {promised['epsilon']:g} at delta 1e-5" in said
    assert "spends privacy again" in said
    page = render(report(bench.run))
    assert "What the saved student promises" in page
    assert "spends privacy again" in page


@pytest.mark.parametrize(
    "mechanism",
    [
        Interactive(sigma1=10.0, sigma2=5.0, threshold=25.0, confidence=0.9),
        NoiseCluster(sigma=10.0),
    ],
    ids=lambda one: one.kind,
)
def test_labels_that_depend_on_other_records_are_refused(bench: Bench, mechanism: Mechanism) -> None:
    state = load_state(bench.run)
    plan = state.parse_plan().model_copy(update={"mechanism": mechanism})
    (bench.run / "session.json").unlink()
    RunStore.create(bench.run, state.model_copy(update={"plan": plan.serialize().hex()}))
    with pytest.raises(OstrakaError, match="depend on their own record alone") as refused:
        bench.retrain(test=bench.test, choice=Choice("dp-sgd", epsilon=8.0, steps=1))
    assert refused.value.code is ErrorCode.CONFIG_INVALID
    assert not (bench.run / "student.json").exists()


def test_without_an_epsilon_it_is_refused(bench: Bench) -> None:
    with pytest.raises(OstrakaError, match="give --student-epsilon, such as 8"):
        bench.retrain(test=bench.test, choice=Choice("dp-sgd"))
