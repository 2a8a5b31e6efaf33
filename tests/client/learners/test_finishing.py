"""What own records do for a model that sums made: calibrated probabilities, and intervals of numbers."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.client.learners.boost import BoostLearner
from ostraka.client.learners.calibration import MIN_RECORDS
from ostraka.client.learners.fit import Learner
from ostraka.client.learners.gradients import GradientsLearner
from ostraka.client.learners.intervals import MIN_DISTANCES, conformal_half_width
from ostraka.client.learners.moments import MomentsLearner
from ostraka.client.learners.networks import NetworkLearner
from ostraka.client.learners.problem import OwnRecords, Problem
from tests.client.learners.problems import draw

LEARNERS = (MomentsLearner(), BoostLearner(), GradientsLearner())
DROWNED = 0.01
"""Of mu: own records carry the model."""


def first_own(problem: Problem, records: int) -> Problem:
    assert problem.own is not None
    return replace(problem, own=OwnRecords(problem.own.X[:records], problem.own.y[:records]))


def test_the_half_width_is_the_error_that_one_in_ten_exceeds() -> None:
    assert conformal_half_width(np.arange(1.0, 20.0)) == 18.0
    assert conformal_half_width(-np.arange(1.0, MIN_DISTANCES + 1)) == MIN_DISTANCES
    assert conformal_half_width(np.ones(MIN_DISTANCES - 1)) == np.inf


@pytest.mark.parametrize("learner", LEARNERS)
def test_nine_of_ten_numbers_lie_within_their_intervals(learner: Learner) -> None:
    shares = []
    for seed in range(3):
        drawn = draw("number", 1, seed=seed, features=12)
        fit = drawn.learn(learner, DROWNED)
        ends = fit.model.predict_interval(drawn.X)
        shares.append(((ends[:, 0] <= drawn.y) & (drawn.y <= ends[:, 1])).mean())
        assert fit.report.half_width is not None
        assert "estimated on 60 records that the model did not use" in fit.report.notes[-1]
    assert 0.82 < np.mean(shares) < 0.98, "a deviation of 60 own records' share is 4%, of three 2.3%"


@pytest.mark.parametrize("learner", LEARNERS)
def test_too_few_own_numbers_leave_the_whole_range_and_are_told(learner: Learner) -> None:
    drawn = draw("number", 1)
    fit = drawn.learn(learner, 1.0, first_own(drawn.problem, MIN_DISTANCES - 1))
    assert (fit.model.predict_interval(drawn.X) == [0.0, 1.0]).all()
    assert fit.report.half_width is None
    assert "the target's whole range" in fit.report.notes[-1]


def log_loss(probabilities: NDArray[Any], y: NDArray[Any]) -> float:
    return -float(np.log(probabilities[np.arange(len(y)), y]).mean())


def test_own_records_that_joined_do_not_make_their_model_too_sure() -> None:
    """Scored by the model that they joined they would: its slope then is 1.4 to 1.8."""
    drawn = draw("classes", 2, features=40)
    model = drawn.learn(GradientsLearner(), DROWNED).model
    assert model.slope_ < 0.9
    calibrated = log_loss(model.predict_proba(drawn.X), drawn.y)
    model.slope_ = 1.0
    assert calibrated < log_loss(model.predict_proba(drawn.X), drawn.y)


@pytest.mark.parametrize("learner", [BoostLearner(), GradientsLearner()])
def test_probabilities_are_calibrated_on_own_records_where_there_are_enough(learner: Learner) -> None:
    drawn = draw("classes", 2, private=300)
    assert drawn.problem.own is not None
    assert drawn.learn(learner, 1.0).report.calibrated_on == 60
    few = drawn.learn(learner, 1.0, first_own(drawn.problem, MIN_RECORDS - 1)).report
    assert few.calibrated_on == 0
    assert "only 9 labelled records of your own: probabilities are not calibrated" in few.notes[-1]
    alike = OwnRecords(drawn.problem.own.X, np.zeros(60, np.int64))
    told = drawn.learn(learner, 1.0, replace(drawn.problem, own=alike)).report
    assert "of one class" in told.notes[-1]


def test_a_calibrated_network_is_as_sure_as_it_is_right() -> None:
    drawn = draw("classes", 3, private=300)
    fit = drawn.learn(NetworkLearner(), 0.1)
    assert fit.report.calibrated_on == 60
    model = fit.model
    probabilities = model.predict_proba(drawn.X.astype(np.float32))
    sure = probabilities.max(axis=1).mean()
    assert abs(sure - (probabilities.argmax(axis=1) == drawn.y).mean()) < 0.12
