"""Sums over records in this process: for benchmarks, simulations, and advice before anything is paid for."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ostraka.client.sums.source import NoisySum
from ostraka.common.learning.sum_answers import answer_steps
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sums.feature_map import Floats
from ostraka.common.sums.questions import AnyQuestion, Rows

LOCAL = "local"
"""Name of the only party."""


@dataclass(frozen=True)
class LocalSums:
    """Answers like parties and a guardian, but with NumPy's noise: its results must not be released.

    Attributes:
        rows: the records.
        sigmas: of the noise on each block of every question, in units.
        random: generates the noise.
        weights: of the records (n,); None: all 1.
    """

    rows: Rows = field(repr=False)
    sigmas: Sequence[float]
    random: np.random.Generator = field(repr=False)
    weights: Floats | None = field(default=None, repr=False)

    def ask(self, question: AnyQuestion) -> NoisySum:
        """Return a noisy sum, see `SumSource.ask`."""
        weights = np.ones(len(self.rows)) if self.weights is None else self.weights
        totals = [np.zeros(width) for width in question.widths]
        for weight in np.unique(weights):
            steps = answer_steps(question, self.rows.take(weights == weight))
            for place, block in enumerate(steps):
                totals[place] += np.ldexp(np.rint(block * weight), -FRACTION_BITS)
        noisy = [
            total + self.random.normal(0, sigma, len(total))
            for total, sigma in zip(totals, self.sigmas, strict=True)
        ]
        return NoisySum(tuple(noisy), tuple(self.sigmas), float(weights.sum()), (LOCAL,))
