"""Gradient descent on noisy sums of clipped gradients of a linear model."""

import math
from dataclasses import dataclass, field

import numpy as np

from ostraka.client.learners.fit import Fit, FitReport, SumPlan, block_sigma, make_model
from ostraka.client.learners.maps import make_map
from ostraka.client.learners.moments import tell_map, warn
from ostraka.client.learners.problem import OwnRecords, Problem
from ostraka.client.learners.rounds import Rounds
from ostraka.client.learners.starting import start_scores, target_of, tell_start
from ostraka.client.sums.source import NoisySum, SumSource
from ostraka.common.estimators.sum_models import LinearScores
from ostraka.common.sums.feature_map import FeatureMap, Floats, clip_rows
from ostraka.common.sums.questions import GradientQuestion, Rows, Target
from ostraka.common.sums.sensitivity import MOVED_GRADIENT

FEW_ROUNDS = 20
MANY_ROUNDS = 50
LITTLE_MU = 0.3
"""Of a budget that pays for few rounds: epsilon 1 at delta 1e-5 is mu 0.27, epsilon 2 is 0.5."""
RADIUS = 0.5
"""To which gradients are clipped, of norm 1 or more where a record is quite wrong: half the noise for little bias."""
LABELS_RADIUS = 1.0
"""The same of several labels, whose residuals add up."""
MOMENTUM = 0.9
"""Of the steps: noise of about ten rounds is averaged in each."""
CURVATURE = {"softmax": 0.5, "logistic": 0.25, "squared": 1.0}
"""Largest of a loss by its scores (Boehning 1992)."""
LONE_EIGENVALUE = 0.5
"""In place of the largest of records' second moments, where there are none to look at: it is at most 1."""


@dataclass(frozen=True)
class GradientsLearner:
    """Asks for the gradient at one model after another."""

    def plan(self, problem: Problem, mu: float) -> SumPlan:
        """As `Learner.plan`."""
        rounds = count_rounds(mu)
        feature_map = make_map(problem)
        d = feature_map.columns
        sigma = block_sigma(MOVED_GRADIENT, d * problem.scores, mu / math.sqrt(rounds))
        told = (*tell_map(problem), *tell_start(problem))
        return SumPlan(
            "gradients", rounds, d, problem.scores, sigma, tells=told, warnings=warn(problem, feature_map)
        )

    def fit(self, problem: Problem, plan: SumPlan, source: SumSource) -> Fit:
        """As `Learner.fit`. A source that stops early leaves the model so far."""
        feature_map = make_map(problem)
        target = target_of(problem)
        radius = LABELS_RADIUS if problem.kind == "labels" else RADIUS
        own = OwnGradients.of(problem, feature_map, target, radius, plan)
        step = step_size(problem, feature_map, target)
        weights = np.zeros((feature_map.columns, problem.scores))
        weights[-1] = start_scores(problem) / feature_map.constant
        speed = np.zeros_like(weights)
        path: list[Floats] = []
        rounds = Rounds(source)
        for _ in range(plan.rounds):
            noisy = rounds.ask(GradientQuestion(feature_map, target, weights, radius))
            if noisy is None:
                break
            slope = radius * noisy.blocks[0].reshape(weights.shape) / noisy.records
            speed = MOMENTUM * speed + own.join(slope, weights, noisy)
            weights = weights - step * speed
            path.append(weights)
        average = np.mean(path[len(path) // 2 :], axis=0)
        report = FitReport(
            "gradients",
            rounds.records,
            rounds.parties,
            rounds=rounds.answered,
            rounds_planned=plan.rounds,
            notes=rounds.notes(plan.rounds),
        )
        scores = LinearScores.of(feature_map, average)
        return Fit(make_model(problem, scores, target.scale, np.full(problem.scores, target.center)), report)


def count_rounds(mu: float) -> int:
    """Return how many rounds a budget pays for best."""
    return FEW_ROUNDS if mu <= LITTLE_MU else MANY_ROUNDS


def step_size(problem: Problem, feature_map: FeatureMap, target: Target) -> float:
    """Return what the sum of slopes with momentum is multiplied by: 2 (1 - momentum) over the largest curvature."""
    shown = problem.pool
    if shown is None or not len(shown):
        largest = LONE_EIGENVALUE
    else:
        U = feature_map(shown)
        largest = float(np.linalg.eigvalsh(U.T @ U / len(U))[-1])
    return 2 * (1 - MOMENTUM) / (CURVATURE[target.loss] * largest)


@dataclass(frozen=True)
class OwnGradients:
    """Gradients of own labelled records, which join by the inverse of their variance.

    Attributes:
        own: the records, None where none join.
        rounds: that average the noise.
    """

    own: OwnRecords | None = field(repr=False)
    feature_map: FeatureMap = field(repr=False)
    target: Target
    radius: float
    rounds: int
    mean_square: float

    @classmethod
    def of(
        cls, problem: Problem, feature_map: FeatureMap, target: Target, radius: float, plan: SumPlan
    ) -> "OwnGradients":
        """Return those of a problem."""
        own = problem.labelled
        if own is None:
            return cls(None, feature_map, target, radius, plan.rounds, 0.0)
        shown = feature_map(own.X if problem.pool is None or not len(problem.pool) else problem.pool)
        return cls(own, feature_map, target, radius, plan.rounds, float((shown**2).mean()))

    def join(self, slope: Floats, weights: Floats, noisy: NoisySum) -> Floats:
        """Return a noisy mean gradient and the own one at the same weights, joined."""
        if self.own is None:
            return slope
        question = GradientQuestion(self.feature_map, self.target, weights, self.radius)
        rows = Rows(np.zeros((len(self.own), 0), np.float32), self.own.X, self.own.y)
        (total,) = question.blocks(rows)
        own_slope = self.radius * total.reshape(weights.shape) / len(self.own)
        U = self.feature_map(self.own.X)
        residuals = self.target.residuals(U @ weights, self.own.y)
        square = float((clip_rows(residuals / self.radius) ** 2).mean()) * self.radius**2 * self.mean_square
        noise = (self.radius * noisy.sigmas[0] / noisy.records) ** 2 * 2 / self.rounds
        variance = noise + square / noisy.records
        own_variance = square / len(self.own)
        share = own_variance / (own_variance + variance)
        joined: Floats = share * slope + (1 - share) * own_slope
        return joined
