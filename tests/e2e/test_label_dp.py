"""Whole federations in which features are known and labels alone are secret."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from ostraka.common.mechanism import RandRes, RandResLabels
from ostraka.deploy.simulation.processes import Start
from ostraka.deploy.simulation.report import SimulationReport
from ostraka.deploy.simulation.run import simulate
from ostraka.deploy.simulation.settings_file import load_settings

SMALL = {"parties": 3, "teachers": 1, "labelled": 20, "epsilon": 40, "model": "logistic_regression"}
RARE = 1e-9


def simulated(folder: Path, start: Start, **changes: Any) -> SimulationReport:
    return simulate(
        load_settings(None, SMALL | changes), folder, announce=lambda _: nullcontext(), start=start
    )


def require_label_dp(report: SimulationReport, folder: Path) -> None:
    """Whatever tells of an epsilon says that it is label-DP, and no record budget was touched."""
    assert report.guarantee == "label"
    assert {unit.adjacency for unit in report.units} == {"label"}
    assert all(0 < unit.epsilon_worst_case <= unit.epsilon_budget for unit in report.units)
    assert all(
        "label-DP" in words for words in json.loads((folder / "report.json").read_text())["notions"].values()
    )
    assert "worst-case epsilon, label-DP" in (folder / "report.html").read_text()


def test_every_record_answers_with_a_randomised_label(tmp_path: Path, start: Start) -> None:
    folder = tmp_path / "run"
    report = simulated(folder, start, label_dp="ldp-normal", label_epsilon=3, steps=20)
    require_label_dp(report, folder)
    records = sum(holding.records for holding in report.holdings)
    right = sum(count.right for count in report.classes)
    assert (report.asked, report.answered) == (records, records)
    truth = RandRes(epsilon=3).truth(len(report.classes))
    assert binomtest(right, records, truth).pvalue > RARE
    assert all(3 <= unit.epsilon_worst_case < 3.1 for unit in report.units)


@pytest.mark.heavy
def test_clusters_of_shared_records_are_labelled_by_all_of_them(tmp_path: Path, start: Start) -> None:
    folder = tmp_path / "run"
    report = simulated(folder, start, label_dp="noisecluster", clusters=15)
    require_label_dp(report, folder)
    assert (report.asked, report.answered) == (15, 15)
    assert sum(count.right + count.wrong for count in report.classes) == sum(
        holding.records for holding in report.holdings
    )
    assert report.label_accuracy is not None
    assert report.label_accuracy > 0.1, "about 0.88; so few of 15 have a chance below 1e-10"


@pytest.mark.heavy
@pytest.mark.parametrize(("learner", "steps"), [("ldp-ssl", 30), ("denoise-ssl", 30), ("aug-descent", 100)])
def test_students_learn_from_randomised_labels(
    tmp_path: Path, start: Start, learner: str, steps: int
) -> None:
    folder = tmp_path / "run"
    report = simulated(folder, start, label_dp=learner, label_epsilon=3, steps=steps)
    require_label_dp(report, folder)
    assert report.student == learner
    assert report.class_quality.after.accuracy > 0.6, "0.8 to 0.9; a tenth is chance"


@pytest.mark.heavy
@pytest.mark.parametrize("ballots", ["unverified", "verified"])
def test_records_of_several_labels_answer_some_and_a_student_learns_all(
    tmp_path: Path, start: Start, ballots: str
) -> None:
    X = np.random.default_rng(2).normal(size=(900, 5))
    np.savez(tmp_path / "signs.npz", X=X, y=(X[:, :3] > 0).astype(int))
    data = {"data": str(tmp_path / "signs.npz"), "task": "multilabel", "ballots": ballots, "quorum": 2}
    report = simulated(tmp_path / "run", start, label_dp="ldp-ssl", label_epsilon=2, steps=200, **data)
    require_label_dp(report, tmp_path / "run")
    records, mechanism = sum(holding.records for holding in report.holdings), RandResLabels(epsilon=2)
    assert (report.asked, report.answered) == (records, records)
    right, wrong = (sum(getattr(count, name) for count in report.labels) for name in ("right", "wrong"))
    assert right + wrong == mechanism.drawn(3) * records
    assert binomtest(right, right + wrong, 1 - mechanism.known_error(1, 3)).pvalue > RARE
    assert all(1.99 < unit.epsilon_worst_case < 2.1 for unit in report.units)
    assert "together are label-DP of epsilon 2" in (tmp_path / "run" / "report.html").read_text()
    assert report.class_quality.after.accuracy > 0.7, "about 0.9, and its deviation 0.02; half is chance"


@pytest.mark.heavy
def test_teachers_that_learned_from_shared_features_answer(tmp_path: Path, start: Start) -> None:
    folder = tmp_path / "run"
    given = {"model": "mlp", "mechanism": "confident:sigma1=1,sigma2=1,threshold=2", "queries": 20}
    given |= {"second_student": "denoise-ssl", "clusters": 10}
    report = simulated(folder, start, label_dp="pate-fm", steps=20, epsilon=400, **given)
    require_label_dp(report, folder)
    assert report.student == "fixmatch and denoise-ssl"
    assert report.asked == 20
    assert report.label_accuracy is not None
    assert report.label_accuracy > 0.3, "about 0.9; so few of 20 have a chance below 1e-9"


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("mechanism", "given"),
    [
        ("binary:sigma=1", {"tally": "blind"}),
        ("tau:sigma=1,tau=1.4", {"ballots": "verified"}),
        ("powerset:sigma=1,max_positives=3", {}),
    ],
)
def test_teachers_of_shared_features_answer_with_sets_of_labels(
    tmp_path: Path, start: Start, mechanism: str, given: dict[str, Any]
) -> None:
    """Three labels that a record has by its place: half of the answers right would be chance."""
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 3)).astype(np.float32)
    file, folder = tmp_path / "signs.npz", tmp_path / "run"
    np.savez(file, X=X, y=(X > 0).astype(np.int64))
    few = {"data": str(file), "model": "mlp", "teachers": 2, "queries": 30, "steps": 20, "epsilon": 4000}
    report = simulated(folder, start, label_dp="pate-fm", mechanism=mechanism, **few | given)
    require_label_dp(report, folder)
    assert (report.mechanism.kind, report.asked) == (mechanism.partition(":")[0], 30)
    assert report.label_accuracy is not None
    assert report.label_accuracy > 0.6, "about 0.93; so few of 90 have a chance below 1e-13"
