"""What may be spent of one or several budgets, and the number of queries that it pays for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ostraka.common.planning.search.forecast import Forecast
from ostraka.common.privacy import ORDERS, WorstCase, budget_rdp, epsilon


@dataclass(frozen=True)
class Allowance:
    """What one unit may spend.

    Attributes:
        rdp: the amount, at the `order` of its budget.
        order: Renyi order.
        delta: the budget's delta.
        sensitivity: what the unit changes in one query, in votes.
    """

    rdp: float
    order: float
    delta: float
    sensitivity: float = 1.0

    @property
    def epsilon(self) -> float:
        """The epsilon of the whole allowance."""
        return epsilon(self.rdp, self.order, self.delta)


Choice = Sequence[Allowance]
"""Allowances that all pay for the same queries, which end when the first allowance is spent."""


@dataclass(frozen=True)
class Rate:
    """The rdp that a query costs.

    Attributes:
        first: what must remain before a query is asked: its worst case.
        each: the average cost of a query.
    """

    first: float
    each: float

    def queries(self, rdp: float) -> float:
        """Return the average number of queries paid for; the last may be asked as long as `first` remains."""
        return 0.0 if rdp < self.first else 1 + (rdp - self.first) / self.each


def worst_rate(cost: WorstCase, forecast: Forecast) -> Rate:
    """Return the rate of a worst case: a query pays for its check, and for its answers.

    Several answers to a query cost at most `cost.most` together. Their mean number is used for that; it gives
    no less than their mean cost (Jensen).
    """
    decisions = forecast.given.shape[1]
    given = forecast.given.sum(axis=1)
    answers = np.minimum(given * cost.answer, cost.most)
    first = cost.check + min(decisions * cost.answer, cost.most)
    return Rate(first, cost.check + float(answers.mean()))


class Purse(Protocol):
    """The maximum that may be spent."""

    def choices(self, share: float) -> Sequence[Choice]:
        """Return the choices for a share: one for each order that is still possible, ascending."""

    def epsilon(self, share: float) -> float:
        """Return the epsilon of a share."""


@dataclass(frozen=True)
class NewBudget:
    """A budget that is not set yet, the same for all parties; a share of it has that share of its epsilon.

    Attributes:
        whole: its epsilon.
        delta: its delta.
        sensitivity: what a unit changes in one query, in votes.
        orders: the orders from which the search chooses, ascending.
    """

    whole: float
    delta: float
    sensitivity: float = 1.0
    orders: Sequence[float] = ORDERS

    def choices(self, share: float) -> Sequence[Choice]:
        """Return the choice for each order at which something can be spent."""
        left = ((order, budget_rdp(share * self.whole, self.delta, order)) for order in self.orders)
        return [[Allowance(rdp, order, self.delta, self.sensitivity)] for order, rdp in left if rdp > 0]

    def epsilon(self, share: float) -> float:
        """Return the epsilon of a share."""
        return share * self.whole


@dataclass(frozen=True)
class Remainders:
    """The remainders of existing budgets, all of which pay for every query."""

    allowances: Choice

    def choices(self, share: float) -> Sequence[Choice]:
        """Return the only choice."""
        return [[replace(one, rdp=share * one.rdp) for one in self.allowances]]

    def epsilon(self, share: float) -> float:
        """Return the largest epsilon that a party spends."""
        return max(replace(one, rdp=share * one.rdp).epsilon for one in self.allowances)
