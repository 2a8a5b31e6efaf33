"""What may be spent, and how many queries it pays for."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ostraka.common.planning.search.forecast import Forecast
from ostraka.common.privacy import WorstCase, epsilon


@dataclass(frozen=True)
class Allowance:
    """What one unit may spend.

    Attributes:
        rdp: at the `order` of its budget.
        order: Renyi order.
        delta: of the budget.
        sensitivity: what the unit changes in one query, in votes.
    """

    rdp: float
    order: float
    delta: float
    sensitivity: float = 1.0

    @property
    def epsilon(self) -> float:
        """Epsilon of all of it."""
        return epsilon(self.rdp, self.order, self.delta)


Choice = Sequence[Allowance]
"""Allowances of all who pay for the same queries; the first that is spent ends them."""


@dataclass(frozen=True)
class Rate:
    """The rdp that a query takes.

    Attributes:
        first: what must be left before one is asked: its worst case.
        each: what it costs on average.
    """

    first: float
    each: float

    def queries(self, rdp: float) -> float:
        """Return how many are paid for on average; the last may be asked as long as `first` is left."""
        return 0.0 if rdp < self.first else 1 + (rdp - self.first) / self.each


def worst_rate(cost: WorstCase, forecast: Forecast) -> Rate:
    """Return the rate of a worst case: a query pays for its check, and for the answers that it gets.

    Several answers to a query cost at most `cost.most` together; their mean number is taken for that, which
    is no less than their mean cost (Jensen).
    """
    decisions = forecast.given.shape[1]
    given = forecast.given.sum(axis=1)
    answers = np.minimum(given * cost.answer, cost.most)
    first = cost.check + min(decisions * cost.answer, cost.most)
    return Rate(first, cost.check + float(answers.mean()))
