"""Gradient descent on noisy sums of clipped gradients of a linear model."""

import math
from dataclasses import dataclass

import numpy as np

from ostraka.client.learners.descent import MOMENTUM, Descent, HeldOutDescents
from ostraka.client.learners.finishing import finish_model, units_of
from ostraka.client.learners.fit import Fit, FitReport, SumPlan, block_sigma
from ostraka.client.learners.maps import make_map
from ostraka.client.learners.own_gradients import OwnGradients
from ostraka.client.learners.plan_notes import tell_map, tell_models, warn
from ostraka.client.learners.problem import Problem
from ostraka.client.learners.rounds import Rounds
from ostraka.client.learners.starting import start_scores, target_of, tell_start
from ostraka.client.sums.source import SumSource
from ostraka.common.estimators.sum_models import LinearScores
from ostraka.common.sums.feature_map import FeatureMap
from ostraka.common.sums.questions import GradientQuestion, Target
from ostraka.common.sums.sensitivity import MOVED_GRADIENT

FEW_ROUNDS = 20
"""Rounds for a small budget: each additional round increases the noise of all."""
MANY_ROUNDS = 50
"""Rounds for a larger budget: the model has nearly converged by then."""
LITTLE_MU = 0.3
"""The mu below which a budget pays for few rounds: epsilon 1 at delta 1e-5 is mu 0.27, epsilon 2 is 0.5."""
RADIUS = 0.5
"""Clipping radius of gradients, whose norm is 1 for a completely wrong record: half the noise for little
bias."""
LABELS_RADIUS = 1.0
"""The same for several labels, whose residuals add up."""
CURVATURE = {"softmax": 0.5, "logistic": 0.25, "squared": 1.0}
"""Upper bound of a loss's second derivative by its scores (Böhning 1992)."""
LONE_EIGENVALUE = 0.5
"""Used as the largest eigenvalue of records' second moments if there are no records: it is at most 1."""


@dataclass(frozen=True)
class GradientsLearner:
    """Asks for the gradient at one model after another."""

    def plan(self, problem: Problem, mu: float) -> SumPlan:
        """Return the plan, see `Learner.plan`."""
        rounds = count_rounds(problem, mu)
        feature_map = make_map(problem)
        d = feature_map.columns
        sigma = block_sigma(MOVED_GRADIENT, d * problem.scores, mu / math.sqrt(rounds))
        told = (*tell_map(problem), *tell_start(problem), *tell_models(problem))
        return SumPlan(
            "gradients",
            rounds,
            d,
            problem.scores,
            sigma,
            tells=told,
            warnings=tuple(warn(problem, feature_map)),
        )

    def fit(self, problem: Problem, plan: SumPlan, source: SumSource) -> Fit:
        """Return the model, see `Learner.fit`. If the source stops early, the model so far."""
        feature_map = make_map(problem)
        target = target_of(problem)
        radius = LABELS_RADIUS if problem.kind == "labels" else RADIUS
        own = OwnGradients.of(problem, feature_map, plan.rounds)
        weights = np.zeros((feature_map.columns, problem.scores))
        weights[-1] = start_scores(problem) / feature_map.constant
        descent = Descent(step_size(problem, feature_map, target), weights)
        others = HeldOutDescents.of(problem, feature_map, plan.rounds, descent)
        rounds = Rounds(source)
        for _ in range(plan.rounds):
            question = GradientQuestion(feature_map, target, descent.weights, radius)
            noisy = rounds.ask(question)
            if noisy is None:
                break
            slope = radius * noisy.blocks[0].reshape(weights.shape) / noisy.records
            if others is not None:
                others.move(slope, question, noisy)
            descent.move(slope if own is None else own.join(slope, question, noisy))
        scores = LinearScores.of(feature_map, descent.average())
        held_out = None if others is None else others.score(feature_map)
        finished = finish_model(problem, scores, units_of(problem, target), held_out)
        report = FitReport(
            "gradients",
            rounds.records,
            rounds.parties,
            rounds=rounds.answered,
            rounds_planned=plan.rounds,
            calibrated_on=finished.calibrated_on,
            half_width=finished.half_width,
            notes=(*rounds.notes(plan.rounds), *finished.notes),
        )
        return Fit(finished.model, report)


def count_rounds(problem: Problem, mu: float) -> int:
    """Return the best number of rounds for a budget; own labelled records reduce noise in later rounds."""
    return FEW_ROUNDS if problem.labelled is None and mu <= LITTLE_MU else MANY_ROUNDS


def step_size(problem: Problem, feature_map: FeatureMap, target: Target) -> float:
    """Return the step size of slopes with momentum: 2 (1 - momentum) over the largest curvature."""
    shown = problem.told_pool
    if shown is None:
        largest = LONE_EIGENVALUE
    else:
        U = feature_map(shown)
        largest = float(np.linalg.eigvalsh(U.T @ U / len(U))[-1])
    return 2 * (1 - MOMENTUM) / (CURVATURE[target.loss] * largest)
