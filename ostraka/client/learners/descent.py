"""Gradient descent with momentum on noisy gradients, and its variants that leave out parts of own records."""

from dataclasses import dataclass, field, replace

import numpy as np

from ostraka.client.learners.held_out import gather, own_folds
from ostraka.client.learners.own_gradients import OwnGradients
from ostraka.client.learners.problem import OwnRecords, Problem
from ostraka.client.sums.source import NoisySum
from ostraka.common.sums.feature_map import FeatureMap, Floats
from ostraka.common.sums.questions import GradientQuestion, Target, sigmoid, softmax

MOMENTUM = 0.9
"""Of the steps: noise of about ten rounds is averaged in each."""
MAX_SHOWN = 1000
"""Records by which a slope at one model is told from that at another near it: enough for a mean."""


@dataclass
class Descent:
    """Weights (d, k) during a descent.

    Attributes:
        step: what slopes with momentum are multiplied by.
        weights: where it is.
        speed: of the last step, before it is multiplied.
        path: where it was after each step.
    """

    step: float
    weights: Floats = field(repr=False)
    speed: Floats = field(init=False, repr=False)
    path: list[Floats] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        """Begin at rest."""
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
    """Descents that each leave out a part of own records, whose scores then estimate the model on new
    records.

    No further sum is bought for them. Labels do not depend on the model: the mean slope x (p - y) at another
    model is that at the asked one, plus the difference of the means of x p over records `shown`, which need
    no labels. That gradients are clipped is left out.
    """

    own: OwnRecords = field(repr=False)
    folds: tuple[tuple[OwnRecords, OwnGradients, Descent], ...] = field(repr=False)
    shown: Floats = field(repr=False)

    @classmethod
    def of(
        cls, problem: Problem, feature_map: FeatureMap, rounds: int, begin: Descent
    ) -> "HeldOutDescents | None":
        """Return the descents of a problem that all begin as `begin`; None without own labelled records."""
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
        """Make a step of each descent, by the noisy mean gradient at the asked model."""
        asked = _expect(self.shown @ question.weights, question.target)
        for _, own, descent in self.folds:
            differing = _expect(self.shown @ descent.weights, question.target) - asked
            here = slope + self.shown.T @ differing / len(self.shown)
            descent.move(own.join(here, replace(question, weights=descent.weights), noisy))

    def score(self, feature_map: FeatureMap) -> Floats:
        """Return scores (n, k) of own records, each by the descent that left it out."""
        parts = [feature_map(held_out.X) @ descent.average() for held_out, _, descent in self.folds]
        return gather(self.own, parts)


def _expect(scores: Floats, target: Target) -> Floats:
    """Return what a residual of a model with these scores holds besides the label."""
    if target.loss == "squared":
        return scores
    return softmax(scores) if target.loss == "softmax" else sigmoid(scores)
