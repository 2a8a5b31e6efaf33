"""Gradient descent with momentum on noisy gradients, and variants that each hold out some own records."""

from dataclasses import dataclass, field, replace

import numpy as np

from ostraka.client.learners.held_out import gather, own_folds
from ostraka.client.learners.own_gradients import OwnGradients
from ostraka.client.learners.problem import OwnRecords, Problem
from ostraka.client.sums.source import NoisySum
from ostraka.common.sums.feature_map import FeatureMap, Floats
from ostraka.common.sums.questions import GradientQuestion, Target, sigmoid, softmax

MOMENTUM = 0.9
"""Momentum: each step averages the noise of about ten rounds."""
MAX_SHOWN = 1000
"""Maximum number of records for converting a slope at one model to a nearby model: enough for a mean."""


@dataclass
class Descent:
    """Weights (d, k) during a descent.

    Attributes:
        step: step size.
        weights: current weights.
        speed: the last step, before it is multiplied by the step size.
        path: the weights after each step.
    """

    step: float
    weights: Floats = field(repr=False)
    speed: Floats = field(init=False, repr=False)
    path: list[Floats] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        """Start without speed."""
        self.speed = np.zeros_like(self.weights)

    def move(self, slope: Floats) -> None:
        """Make a step down a slope (d, k)."""
        self.speed = MOMENTUM * self.speed + slope
        self.weights = self.weights - self.step * self.speed
        self.path.append(self.weights)

    def average(self) -> Floats:
        """Return the average of the last half of the steps."""
        averaged: Floats = np.mean(self.path[len(self.path) // 2 :], axis=0)
        return averaged


@dataclass(frozen=True)
class HeldOutDescents:
    """Descents that each hold out a part of own records, to estimate the model's scores on new records.

    They need no further sums. Labels do not depend on the model, so the mean slope x (p - y) at another model
    is the slope at the asked model plus the difference of the means of x p over the records `shown`, which
    need no labels. The clipping of gradients is neglected.
    """

    own: OwnRecords = field(repr=False)
    folds: tuple[tuple[OwnRecords, OwnGradients, Descent], ...] = field(repr=False)
    shown: Floats = field(repr=False)

    @classmethod
    def of(
        cls, problem: Problem, feature_map: FeatureMap, rounds: int, begin: Descent
    ) -> "HeldOutDescents | None":
        """Return the descents of a problem, all starting at `begin`; None without own labelled records."""
        own = problem.labelled
        shown = problem.own_features
        if own is None or shown is None:
            return None
        folds = []
        for fold in own_folds(own):
            joined = OwnGradients.of(replace(problem, own=fold.rest), feature_map, rounds)
            if joined is None:
                return None
            folds.append((fold.held_out, joined, Descent(begin.step, begin.weights)))
        return cls(own, tuple(folds), feature_map(shown[:MAX_SHOWN]))

    def move(self, slope: Floats, question: GradientQuestion, noisy: NoisySum) -> None:
        """Make a step of each descent, from the noisy mean gradient at the asked model."""
        asked = _expect(self.shown @ question.weights, question.target)
        for _, own, descent in self.folds:
            differing = _expect(self.shown @ descent.weights, question.target) - asked
            here = slope + self.shown.T @ differing / len(self.shown)
            descent.move(own.join(here, replace(question, weights=descent.weights), noisy))

    def score(self, feature_map: FeatureMap) -> Floats:
        """Return scores (n, k) of own records, each by the descent that held it out."""
        parts = [feature_map(held_out.X) @ descent.average() for held_out, _, descent in self.folds]
        return gather(self.own, parts)


def _expect(scores: Floats, target: Target) -> Floats:
    """Return the part of a residual that does not depend on the label, for these scores."""
    if target.loss == "squared":
        return scores
    return softmax(scores) if target.loss == "softmax" else sigmoid(scores)
