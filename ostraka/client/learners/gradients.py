"""Gradient descent on noisy sums of clipped gradients of a linear model."""

import math
from dataclasses import dataclass, field

import numpy as np

from ostraka.client.learners.fit import Fit, FitReport, SumPlan, block_sigma, make_model
from ostraka.client.learners.maps import make_map
from ostraka.client.learners.moments import tell_map, warn
from ostraka.client.learners.problem import Problem
from ostraka.client.learners.rounds import Rounds
from ostraka.client.learners.starting import start_scores, target_of, tell_start
from ostraka.client.sums.source import NoisySum, SumSource
from ostraka.common.estimators.sum_models import LinearScores
from ostraka.common.sums.feature_map import FeatureMap, Floats
from ostraka.common.sums.questions import GradientQuestion, Rows, Target, sigmoid, softmax
from ostraka.common.sums.sensitivity import MOVED_GRADIENT

FEW_ROUNDS = 20
"""With a small budget: each round more makes the noise of all larger."""
MANY_ROUNDS = 50
"""With a larger one: the model is near its best by then."""
LITTLE_MU = 0.3
"""Of a budget that pays for few rounds: epsilon 1 at delta 1e-5 is mu 0.27, epsilon 2 is 0.5."""
RADIUS = 0.5
"""To which gradients are clipped, of norm 1 where a record is quite wrong: half the noise for little bias."""
LABELS_RADIUS = 1.0
"""The same of several labels, whose residuals add up."""
MOMENTUM = 0.9
"""Of the steps: noise of about ten rounds is averaged in each."""
CURVATURE = {"softmax": 0.5, "logistic": 0.25, "squared": 1.0}
"""Largest of a loss by its scores (Böhning 1992)."""
LONE_EIGENVALUE = 0.5
"""In place of the largest of records' second moments, where there are none to look at: it is at most 1."""


@dataclass(frozen=True)
class GradientsLearner:
    """Asks for the gradient at one model after another."""

    def plan(self, problem: Problem, mu: float) -> SumPlan:
        """As `Learner.plan`."""
        rounds = count_rounds(problem, mu)
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
        own = OwnGradients.of(problem, feature_map, plan.rounds)
        step = step_size(problem, feature_map, target)
        weights = np.zeros((feature_map.columns, problem.scores))
        weights[-1] = start_scores(problem) / feature_map.constant
        speed = np.zeros_like(weights)
        path: list[Floats] = []
        rounds = Rounds(source)
        for _ in range(plan.rounds):
            question = GradientQuestion(feature_map, target, weights, radius)
            noisy = rounds.ask(question)
            if noisy is None:
                break
            slope = radius * noisy.blocks[0].reshape(weights.shape) / noisy.records
            speed = MOMENTUM * speed + (slope if own is None else own.join(slope, question, noisy))
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


def count_rounds(problem: Problem, mu: float) -> int:
    """Return how many rounds a budget pays for best: own labelled records steady the later ones."""
    return FEW_ROUNDS if problem.labelled is None and mu <= LITTLE_MU else MANY_ROUNDS


def step_size(problem: Problem, feature_map: FeatureMap, target: Target) -> float:
    """Return what slopes with momentum are multiplied by: 2 (1 - momentum) over the largest curvature."""
    shown = problem.unlabelled
    if shown is None:
        largest = LONE_EIGENVALUE
    else:
        U = feature_map(shown)
        largest = float(np.linalg.eigvalsh(U.T @ U / len(U))[-1])
    return 2 * (1 - MOMENTUM) / (CURVATURE[target.loss] * largest)


@dataclass(frozen=True)
class OwnGradients:
    """Mean gradients of own labelled records, which join by the inverse of their variance.

    Attributes:
        rows: the records.
        shown: mapped records (m, d) of the pool, or the same records': what gradients vary over.
        rounds: that average the noise.
    """

    rows: Rows = field(repr=False)
    shown: Floats = field(repr=False)
    rounds: int

    @classmethod
    def of(cls, problem: Problem, feature_map: FeatureMap, rounds: int) -> "OwnGradients | None":
        """Return those of a problem, None without labelled records."""
        own = problem.labelled
        if own is None:
            return None
        shown = problem.own_features
        rows = Rows(np.zeros((len(own), 0), np.float32), own.X, own.y)
        return cls(rows, feature_map(own.X if shown is None else shown), rounds)

    def join(self, slope: Floats, question: GradientQuestion, noisy: NoisySum) -> Floats:
        """Return a noisy mean gradient joined by the own one at the same model.

        How far a gradient is off is told by the probabilities that the model itself gives: residuals of the
        few records that it was fitted to are too small.
        """
        (total,) = question.blocks(self.rows)
        own_slope = question.radius * total.reshape(slope.shape) / len(self.rows)
        square = self._mean_square(question)
        # Noise is new in every round, and these records are the same: momentum and the average of the last
        # half take about half of the rounds together.
        noise = (question.radius * noisy.sigmas[0] / noisy.records) ** 2 * 2 / self.rounds
        own_variance = square / len(self.rows)
        share = own_variance / (own_variance + noise + square / noisy.records)
        joined: Floats = share * slope + (1 - share) * own_slope
        return joined

    def _mean_square(self, question: GradientQuestion) -> float:
        """Return the mean square of a value of a gradient, as the model expects it."""
        scores = self.shown @ question.weights
        if question.target.loss == "squared":
            residuals = question.target.residuals(question.map(self.rows.X) @ question.weights, self.rows.y)
            spread = float((residuals**2).mean())
        else:
            p = softmax(scores) if question.target.loss == "softmax" else sigmoid(scores)
            spread = float((p * (1 - p)).mean())
        return spread * float((self.shown**2).mean())
