"""What advice takes for released is what a plan's forecast expects."""

import math

import numpy as np
import pytest

from ostraka.common.mechanism import Threshold
from ostraka.common.planning.search.forecast import Forecaster
from ostraka.common.planning.search.vote_sample import VoteSample
from ostraka.deploy.advice.votes import Electorate, release

TEACHERS = 40
QUERIES = 40_000
CLOSE = 6.2 / (2 * math.sqrt(QUERIES))
"""Six deviations of a share of so many queries: exceeded with probability below 1e-9."""
YES = np.full(QUERIES, 12.0)
"""Votes of all queries: no argmax says yes, and a threshold at their share does as often as not."""


@pytest.mark.parametrize("share", [0.2, 0.3, 0.6])
def test_a_threshold_says_the_second_class_as_often_as_is_forecast(share: float) -> None:
    mechanism = Threshold(sigma=5.0, share=share)
    electorate = Electorate(TEACHERS, TEACHERS, np.column_stack([TEACHERS - YES, YES]), YES > 0, 0.0)
    answered, said = release(mechanism, electorate, np.random.default_rng(1))
    assert answered.all()
    one = VoteSample(np.array([[28.0, 12.0]]), TEACHERS, np.array([1]))
    assert said.mean() == pytest.approx(Forecaster(one).forecast(mechanism).accuracy, abs=CLOSE)
