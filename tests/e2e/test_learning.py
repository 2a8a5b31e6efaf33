"""Simulations whose parties add up what learners ask, from provisioning to the report."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostraka.common.datasets import from_arrays, save
from ostraka.deploy.simulation.number_quality import NumberQuality
from ostraka.deploy.simulation.processes import Start
from ostraka.deploy.simulation.report import SimulationReport
from ostraka.deploy.simulation.run import HTML_FILE, simulate
from ostraka.deploy.simulation.settings import Settings

RECORDS = 1200
EPSILON = 8.0


def learned(folder: Path, start: Start, **settings: Any) -> SimulationReport:
    """Simulate on records of which two of five columns tell the class, one by its distance to a half."""
    random = np.random.default_rng(3)
    X = random.random((RECORDS, 5), np.float32)
    y = (X[:, 0] + np.abs(2 * X[:, 1] - 1) > 1).astype(np.int64)
    save(from_arrays(X, y), folder / "records.npz")
    small: dict[str, Any] = {"parties": 2, "teachers": 1, "labelled": 20, "queries": 100}
    few = small | {"model": "logistic_regression", "epsilon": EPSILON, "data": str(folder / "records.npz")}
    return simulate(Settings(**few | settings), folder / "run", announce=lambda _: nullcontext(), start=start)


@pytest.mark.heavy
@pytest.mark.processes
@pytest.mark.parametrize("learner", ["bins", "boost", "gradients", "auto"])
def test_every_learner_learns_from_real_parties(tmp_path: Path, start: Start, learner: str) -> None:
    report = learned(tmp_path, start, learn=learner)
    assert report.ballots == ("unverified" if learner == "bins" else "verified"), "its Gram sum is long"
    model = report.quality.model
    assert model is not None
    assert model.learner == learner or learner == "auto"
    assert model.rounds == model.rounds_planned
    assert report.class_quality.after.accuracy > 0.65, "0.75 to 0.9; half is chance"


@pytest.mark.heavy
@pytest.mark.processes
def test_budgets_that_differ_weigh_records(tmp_path: Path, start: Start) -> None:
    differing = {"epsilons": {"party-1": 2.0, "party-2": EPSILON}, "variant": "weighting"}
    report = learned(tmp_path, start, learn="moments", ballots="verified", **differing)
    assert report.quality.model is not None
    spent = {unit.party: unit.epsilon_worst_case for unit in report.units}
    assert 0 < spent["party-1"] <= 2.0
    assert spent["party-1"] < spent["party-2"] <= EPSILON


@pytest.mark.heavy
@pytest.mark.processes
def test_a_model_of_sums_spends_the_budget_and_is_on_the_page(tmp_path: Path, start: Start) -> None:
    report = learned(tmp_path, start, learn="moments", ballots="verified")
    assert report.ballots == "verified"
    assert (report.queries, report.answered, report.label_accuracy) == (0, 0, None)
    assert report.mechanism.kind == "moments"
    for unit in report.units:
        assert 0.99 * EPSILON < unit.epsilon_worst_case <= EPSILON
    assert report.quality.pooled is not None
    assert report.gain is not None
    page = (tmp_path / "run" / HTML_FILE).read_text()
    assert "Learner moments, of one sum over" in page


@pytest.mark.heavy
@pytest.mark.processes
def test_a_number_is_learned_from_real_parties(tmp_path: Path, start: Start) -> None:
    random = np.random.default_rng(4)
    X = random.random((RECORDS, 4), np.float32)
    y = 10 * X[:, 0] - 5 * X[:, 1] + random.normal(0, 0.5, RECORDS)
    file = tmp_path / "numbers.npz"
    np.savez(file, X=X, y=y)
    settings = Settings(data=str(file), learn="auto", parties=2, labelled=40, queries=100, epsilon=EPSILON)
    report = simulate(settings, tmp_path / "run", announce=lambda _: nullcontext(), start=start)
    assert (report.task, report.teachers, report.student_accuracy_after) == ("number", 0, None)
    assert isinstance(report.quality, NumberQuality)
    assert report.quality.after.r2.low > 0.7, "about 0.95"
    assert all(unit.epsilon_worst_case <= EPSILON for unit in report.units)
    page = (tmp_path / "run" / HTML_FILE).read_text()
    for word in ("R^2, a model of sums", "mean absolute error", "the mean of own numbers"):
        assert word in page
