"""What may be spent of one budget or of several, and how many queries it pays for."""

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


class Purse(Protocol):
    """What may be spent at most."""

    def choices(self, share: float) -> Sequence[Choice]:
        """Return what a share comes to: one choice for each order that may still be taken, ascending."""

    def epsilon(self, share: float) -> float:
        """Return the epsilon of a share."""


@dataclass(frozen=True)
class NewBudget:
    """A budget that is yet to be set, alike for all parties; a share of it is one of so much less epsilon.

    Attributes:
        whole: its epsilon.
        delta: its delta.
        sensitivity: what a unit changes in one query, in votes.
        orders: those that it may have, ascending, of which the search chooses.
    """

    whole: float
    delta: float
    sensitivity: float = 1.0
    orders: Sequence[float] = ORDERS

    def choices(self, share: float) -> Sequence[Choice]:
        """Return what it comes to at every order that leaves it anything."""
        left = ((order, budget_rdp(share * self.whole, self.delta, order)) for order in self.orders)
        return [[Allowance(rdp, order, self.delta, self.sensitivity)] for order, rdp in left if rdp > 0]

    def epsilon(self, share: float) -> float:
        """Return the epsilon of a share."""
        return share * self.whole


@dataclass(frozen=True)
class Remainders:
    """What is left of budgets that are set, all of which pay for every query."""

    allowances: Choice

    def choices(self, share: float) -> Sequence[Choice]:
        """Return the one choice there is."""
        return [[replace(one, rdp=share * one.rdp) for one in self.allowances]]

    def epsilon(self, share: float) -> float:
        """Return the largest epsilon that a party spends."""
        return max(replace(one, rdp=share * one.rdp).epsilon for one in self.allowances)
