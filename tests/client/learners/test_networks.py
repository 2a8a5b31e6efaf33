from pathlib import Path

import numpy as np
import pytest

from ostraka.client.learners.networks import NetworkLearner
from ostraka.client.learners.problem import Problem
from ostraka.client.students.files import load_student, save_student
from ostraka.client.sums.local import LocalSums
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sums.questions import Rows


def clouds(records: int) -> tuple[Problem, Rows]:
    random = np.random.default_rng(0)
    y = random.integers(3, size=records)
    X = (random.normal(0, 0.15, (records, 4)) + np.eye(3, 4)[y]).astype(np.float32)
    return Problem("classes", 3, 4, records), Rows(X[:, :0], X, y)


def test_a_network_learns_from_noisy_gradients_and_is_loaded_as_it_was(tmp_path: Path) -> None:
    problem, rows = clouds(300)
    learner = NetworkLearner()
    plan = learner.plan(problem, mu=10.0)
    assert plan.mu == pytest.approx(10.0)
    fit = learner.fit(problem, plan, LocalSums(rows, plan.sigmas, np.random.default_rng(1)))
    assert (fit.model.predict(rows.X) == rows.y).mean() > 0.9, "about 1; a third is chance"
    save_student(fit.model, tmp_path / "model.safetensors")
    loaded = load_student(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.predict_proba(rows.X), fit.model.predict_proba(rows.X))


def test_numbers_are_not_for_networks() -> None:
    with pytest.raises(OstrakaError) as refused:
        NetworkLearner().plan(Problem("number", 1, 4, 100), mu=1.0)
    assert refused.value.code is ErrorCode.PLAN_INVALID
