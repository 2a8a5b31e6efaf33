"""Binned numbers, and least squares on the binned columns from one noisy sum."""

from dataclasses import dataclass

import numpy as np

from ostraka.client.learners.fit import Fit, SumPlan
from ostraka.client.learners.moments import fit_moments, plan_moments
from ostraka.client.learners.problem import Problem
from ostraka.client.sums.source import SumSource
from ostraka.common.sums.feature_map import UNBINNED, Floats

BINS = 8
"""Bins per number: enough for a curve, few enough that each contains an eighth of the records."""
TOLD_CUTS = "quantiles of your pool's columns, which are the bounds of the bins"
TWO_VALUES = 2
"""A feature with at most this many values needs no bins."""


@dataclass(frozen=True)
class BinsLearner:
    """Asks once, for the moments of binned columns."""

    def plan(self, problem: Problem, mu: float) -> SumPlan:
        """Return the plan, see `Learner.plan`."""
        told = () if problem.told_pool is None else (TOLD_CUTS,)
        return plan_moments(problem, mu, "bins", make_cuts(problem), told)

    def fit(self, problem: Problem, plan: SumPlan, source: SumSource) -> Fit:
        """Return the model, see `Learner.fit`."""
        return fit_moments(problem, plan, source, make_cuts(problem))


def make_cuts(problem: Problem) -> tuple[Floats, ...]:
    """Return the cut points of each feature; truth values and indicators have none.

    The cuts are quantiles of the pool and of its distinct values, so a value that most records share still
    leaves cuts for the others. Without a pool whose statistics parties may learn, bins have equal width.
    """
    indicators = {
        place
        for category in problem.categories
        for place in range(category.first, category.first + category.width)
    }
    if problem.told_pool is None:
        wide = np.linspace(0, 1, BINS + 1)[1:-1]
        return tuple(UNBINNED if j in indicators else wide for j in range(problem.features))
    return tuple(
        UNBINNED if j in indicators else cut_column(np.asarray(problem.told_pool[:, j], np.float64))
        for j in range(problem.features)
    )


def cut_column(values: Floats) -> Floats:
    """Return the rising cut points of a column of the pool (m,), each halfway between two of its values."""
    distinct = np.unique(values)
    if len(distinct) <= TWO_VALUES:
        return UNBINNED
    between = (distinct[1:] + distinct[:-1]) / 2
    shares = np.linspace(0, 1, BINS + 1)[1:-1]
    wanted = np.concatenate([np.quantile(values, shares), np.quantile(between, shares)])
    nearest = np.abs(between[:, None] - wanted).argmin(axis=0)
    cuts: Floats = between[np.unique(nearest)]
    return cuts
