"""Gradients of own labelled records, which are combined with those of the parties."""

from dataclasses import dataclass, field

import numpy as np

from ostraka.client.learners.problem import Problem
from ostraka.client.sums.source import NoisySum
from ostraka.common.sums.feature_map import FeatureMap, Floats
from ostraka.common.sums.questions import GradientQuestion, Rows, sigmoid, softmax


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
        """Return the gradients of a problem's own records, None without labelled records."""
        own = problem.labelled
        if own is None:
            return None
        shown = problem.told_features
        rows = Rows(np.zeros((len(own), 0), np.float32), own.X, own.y)
        return cls(rows, feature_map(own.X if shown is None else shown), rounds)

    def join(self, slope: Floats, question: GradientQuestion, noisy: NoisySum) -> Floats:
        """Return a noisy mean gradient combined with the own gradient at the same model.

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
