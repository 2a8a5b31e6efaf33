"""Whole federations in which students learn in other ways than from one run's labels at once."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials
from ostraka.deploy.simulation.processes import Start
from ostraka.deploy.simulation.report import SimulationReport
from ostraka.deploy.simulation.run import simulate
from ostraka.deploy.simulation.settings import Settings
from ostraka.guardian.admin.verification import verify_ledger

SMALL = Settings(
    parties=3,
    teachers=1,
    labelled=20,
    queries=20,
    batch_size=10,
    mechanism="confident:sigma1=1,sigma2=1,threshold=2",
    epsilon=1000,
    model="logistic_regression",
)


def simulated(folder: Path, start: Start, **changes: Any) -> SimulationReport:
    settings = Settings.model_validate(SMALL.model_dump() | changes)
    return simulate(settings, folder, announce=lambda _: nullcontext(), start=start)


def several_labels(folder: Path) -> dict[str, Any]:
    """Return settings for records with three labels: the third needs the first."""
    X = np.random.default_rng(2).normal(size=(600, 5))
    y = (X[:, :3] > 0).astype(int)
    y[:, 2] &= y[:, 0]
    file = folder / "signs.npz"
    np.savez(file, X=X, y=y, classes=np.array(["first", "second", "third"]))
    return {"data": str(file), "mechanism": "binary:sigma=1", "teachers": 5, "labelled": 80}


@pytest.mark.heavy
def test_the_weakest_parties_ask_all_others_in_turn(tmp_path: Path, start: Start) -> None:
    folder = tmp_path / "run"
    report = simulated(folder, start, queriers=2, queries=10)
    assert len({turn.party for turn in report.turns}) == 2
    assert all((turn.queries, turn.asked) == (10, 10) for turn in report.turns)
    assert report.queries == 20
    for turn in report.turns:
        assert Credentials.load(folder / f"{turn.party}-query").identity.uri.endswith("query")
    charged = {unit.party: len(unit.history) for unit in report.units}
    asking = {turn.party for turn in report.turns}
    assert all(charged[site] == (1 if site in asking else 2) for site in SMALL.sites)
    mean = np.mean([turn.after.balanced_accuracy for turn in report.turns])
    assert report.class_quality.after.balanced_accuracy == pytest.approx(mean)
    assert report.student_balanced_accuracy_after == pytest.approx(mean)
    assert verify_ledger(folder / "guardian/ledger.db", folder / "guardian/ca.crt", [])


@pytest.mark.heavy
def test_rounds_ask_what_the_student_does_not_know(tmp_path: Path, start: Start) -> None:
    report = simulated(tmp_path / "run", start, label_rounds=2, queries=40)
    assert [one.mechanism for one in report.rounds] == ["confident", "interactive"]
    assert [one.asked for one in report.rounds] == [10, 10]
    assert report.asked == 20
    first, second = (one.epsilon_worst_case for one in report.rounds)
    assert 0 < first < second
    assert report.class_quality.after.accuracy == report.rounds[-1].accuracy


@pytest.mark.heavy
def test_rounds_dependencies_and_several_queriers_combine(tmp_path: Path, start: Start) -> None:
    combined = {"label_rounds": 2, "dependencies": True, "queriers": 2, "tally": "blind"}
    report = simulated(tmp_path / "run", start, **several_labels(tmp_path) | combined)
    assert report.asked == 20
    assert report.implied > 0
    assert all((turn.queries, turn.asked) == (10, 10) for turn in report.turns)
    rounds = (tmp_path / "run").glob("party-*-query/run/round-*/parents/session.json")
    assert len(list(rounds)) == 4


@pytest.mark.heavy
def test_encrypted_queries_are_not_asked_about_implied_labels(tmp_path: Path, start: Start) -> None:
    encrypted = {"dependencies": True, "encoding": "ckks", "head": "linear", "model": None}
    report = simulated(tmp_path / "run", start, **several_labels(tmp_path) | encrypted)
    assert report.implied > 0
    assert report.label_accuracy is not None
    assert report.label_accuracy > 0.5, "about 0.9; so few of 60 have a chance below 1e-9"


@pytest.mark.heavy
def test_implied_labels_are_not_asked_and_every_label_has_its_metrics(tmp_path: Path, start: Start) -> None:
    report = simulated(tmp_path / "run", start, dependencies=True, **several_labels(tmp_path))
    assert report.implied > 0
    third = report.labels[2]
    assert third.right + third.wrong == 20
    assert report.label_accuracy is not None
    assert report.label_accuracy > 0.5, "about 0.9; so few of 60 have a chance below 1e-9"
    for _, metrics in report.class_quality.rows:
        assert [label.name for label in metrics.labels] == ["first", "second", "third"]
        assert all(label.auc is not None and label.average_precision is not None for label in metrics.labels)
        assert metrics.map == pytest.approx(np.mean([label.average_precision for label in metrics.labels]))
    assert report.class_quality.ensemble.accuracy > 0.9
    assert report.class_quality.own.accuracy == report.student_accuracy_before


def test_dependencies_of_single_labels_start_nothing(tmp_path: Path, start: Start) -> None:
    with pytest.raises(OstrakaError, match="Setting dependencies") as caught:
        simulated(tmp_path / "run", start, dependencies=True)
    assert caught.value.code == ErrorCode.CONFIG_INVALID


@pytest.mark.heavy
@pytest.mark.parametrize("student", ["vat", "mixmatch", "fixmatch"])
def test_a_student_of_any_kind_learns_from_released_labels(
    tmp_path: Path, student: str, start: Start
) -> None:
    report = simulated(tmp_path / "run", start, student=student, steps=40, queries=150)
    assert report.student == student
    gain = report.class_quality.after.accuracy - report.class_quality.own.accuracy
    assert gain > 0, "about 0.3, and its deviation 0.03: ten deviations"


@pytest.mark.heavy
def test_mixmatch_learns_several_labels(tmp_path: Path, start: Start) -> None:
    changes = several_labels(tmp_path) | {"labelled": 20}
    report = simulated(tmp_path / "run", start, student="mixmatch", steps=60, **changes)
    assert report.class_quality.after.balanced_accuracy > 0.55, "about 0.78; half is chance"
