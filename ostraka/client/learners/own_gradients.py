"""Gradients of own labelled records, which are combined with the parties' gradients."""

from dataclasses import dataclass, field

import numpy as np

from ostraka.client.learners.problem import Problem
from ostraka.client.sums.source import NoisySum
from ostraka.common.sums.feature_map import FeatureMap, Floats
from ostraka.common.sums.questions import GradientQuestion, Rows, sigmoid, softmax


@dataclass(frozen=True)
class OwnGradients:
    """Mean gradients of own labelled records, weighted by the inverse of their variance.

    Attributes:
        rows: the records.
        shown: mapped records (m, d) of the pool, or of the same records, to estimate the variance of
            gradients.
        rounds: number of rounds over which noise averages out.
    """

    rows: Rows = field(repr=False)
    shown: Floats = field(repr=False)
    rounds: int

    @classmethod
    def of(cls, problem: Problem, feature_map: FeatureMap, rounds: int) -> "OwnGradients | None":
        """Return the gradients of a problem's own records; None without labelled records."""
        own = problem.labelled
        if own is None:
            return None
        shown = problem.told_features
        rows = Rows(np.zeros((len(own), 0), np.float32), own.X, own.y)
        return cls(rows, feature_map(own.X if shown is None else shown), rounds)

    def join(self, slope: Floats, question: GradientQuestion, noisy: NoisySum) -> Floats:
        """Combine a noisy mean gradient with the own gradient at the same model.

        The variance of a gradient is estimated by the model's own probabilities, because the residuals of the
        few records that it was fitted to are too small.
        """
        (total,) = question.blocks(self.rows)
        own_slope = question.radius * total.reshape(slope.shape) / len(self.rows)
        square = self._mean_square(question)
        # Noise is independent in every round, but these records are the same: momentum and the average of the
        # last half average about half of the rounds.
        noise = (question.radius * noisy.sigmas[0] / noisy.records) ** 2 * 2 / self.rounds
        own_variance = square / len(self.rows)
        share = own_variance / (own_variance + noise + square / noisy.records)
        joined: Floats = share * slope + (1 - share) * own_slope
        return joined

    def _mean_square(self, question: GradientQuestion) -> float:
        """Return the expected mean square of a gradient's value under the model."""
        scores = self.shown @ question.weights
        if question.target.loss == "squared":
            residuals = question.target.residuals(question.map(self.rows.X) @ question.weights, self.rows.y)
            spread = float((residuals**2).mean())
        else:
            p = softmax(scores) if question.target.loss == "softmax" else sigmoid(scores)
            spread = float((p * (1 - p)).mean())
        return spread * float((self.shown**2).mean())
