"""Initial scores of trainings: the shares of classes or labels among own labelled records."""

import numpy as np

from ostraka.client.learners.coding import TOLD_NUMBERS, TOLD_SHARES, number_scale
from ostraka.client.learners.problem import Problem, loss_target, share_of_ones
from ostraka.common.sums.feature_map import Floats
from ostraka.common.sums.questions import Target


def target_of(problem: Problem) -> Target:
    """Return the target of a problem's scores; numbers are standardized by own labelled records."""
    return loss_target(problem, *number_scale(problem)) if problem.kind == "number" else loss_target(problem)


def start_scores(problem: Problem) -> Floats:
    """Return scores (k,) that give each class or label its share among own records; 0 without them."""
    own = problem.labelled
    if own is None or problem.kind == "number":
        return np.zeros(problem.scores)
    if problem.kind == "labels" or problem.binary:
        shares = share_of_ones(own)
        odds: Floats = np.log(shares / (1 - shares))
        return odds
    counts = np.bincount(own.y.astype(np.int64), minlength=problem.outputs) + 1.0
    logarithms: Floats = np.log(counts / counts.sum())
    return logarithms


def tell_start(problem: Problem) -> tuple[str, ...]:
    """Return what the start of a training reveals to the parties about own records."""
    if problem.labelled is None:
        return ()
    return (TOLD_NUMBERS if problem.kind == "number" else TOLD_SHARES,)
