"""Models of noisy sums: each learner on the private records of a split, in this process."""

import math
from collections.abc import Iterator

import numpy as np

from ostraka.client.learners.choice import LEARNERS
from ostraka.client.sums.local import LocalSums
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy.gaussian import gaussian_budget
from ostraka.common.privacy.guarantees import DELTA
from ostraka.common.sums.questions import Rows
from ostraka.deploy.advice.attempts import Attempt, Clock, measure_model
from ostraka.deploy.advice.splits import Split

MAX_BINNED = 300
"""Largest number of columns of binned records: beyond it a regression takes seconds per split, and boosting
is as good.
"""
MAX_ROUNDS = 150
"""Largest number of rounds of sums; a learner that needs more is left out, for tables with many columns."""


def mu_of(epsilon: float) -> float:
    """Return mu of a budget for one replaced record, by the exact conversion."""
    return math.sqrt(2 * gaussian_budget(epsilon, DELTA))


def try_sums(split: Split, epsilon: float, mu: float) -> Iterator[Attempt]:
    """Yield each learner whose plan fits; the noise has a guardian's scale, but comes from NumPy.

    An epsilon pays for sums that are `mu`-Gaussian differentially private, for all rounds together.
    """
    problem = split.problem()
    X, y = split.take(split.private)
    rows = Rows(np.zeros((len(X), 0), np.float32), X, y)
    weights = None if split.amounts.weight == 1 else np.full(len(X), split.amounts.weight)
    for place, (name, learner) in enumerate(LEARNERS.items()):
        clock = Clock()
        try:
            plan = learner.plan(problem, mu)
            if (name == "bins" and plan.columns > MAX_BINNED) or plan.rounds > MAX_ROUNDS:
                continue
            random = np.random.default_rng([split.seed, place, round(1e6 * epsilon)])
            fit = learner.fit(problem, plan, LocalSums(rows, plan.sigmas, random, weights))
        except OstrakaError as error:
            if error.code is ErrorCode.DATA_TOO_FEW:
                continue
            raise
        model = fit.model
        predict = model.predict if problem.kind == "number" else model.predict_proba
        measured = measure_model(split, predict)
        yield Attempt("sums", name, epsilon, measured, seconds=clock.seconds(), settings={"learner": name})
