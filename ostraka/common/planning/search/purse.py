"""Budgets that a search may spend a share of: one that is yet to be set, or what is left of several."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ostraka.common.planning.search.allowance import Allowance, Choice
from ostraka.common.privacy import ORDERS, budget_rdp


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
        order: its order; None: the search chooses.
    """

    whole: float
    delta: float
    sensitivity: float = 1.0
    order: float | None = None

    def choices(self, share: float) -> Sequence[Choice]:
        """Return what it comes to at every order that leaves it anything."""
        orders = ORDERS if self.order is None else (self.order,)
        left = ((order, budget_rdp(share * self.whole, self.delta, order)) for order in orders)
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
