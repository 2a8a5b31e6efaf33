"""A candidate mechanism: how many queries a budget pays for in the worst case, and epsilon by queries."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Mechanism
from ostraka.common.privacy import AMOUNT_UNIT, ORDERS, WorstCase, budget_rdp, epsilon
from ostraka.common.privacy.filters import GAUSSIAN


@dataclass(frozen=True)
class Candidate:
    """A mechanism for a task of `classes` classes or labels.

    Attributes:
        mechanism: the mechanism; its parameters are in votes.
        classes: number of classes, or of labels of a multi-label task.
        sensitivity: what one unit can change in one query, in votes.
    """

    mechanism: Mechanism
    classes: int
    sensitivity: float = 1.0

    @property
    def answers(self) -> int:
        """Number of answers to one query: one class, or one bit for each label."""
        return self.mechanism.answers(self.classes)

    def cost(self, order: float) -> WorstCase:
        """Return the worst-case cost of a batch at a Renyi order."""
        return self.mechanism.worst_case(order, self.sensitivity, classes=self.classes)

    def rdp(self, order: float, queries: int, *, answered: bool = True) -> float:
        """Return the worst-case rdp of one batch of `queries`, with all of them answered or none.

        Without a check every query is answered.
        """
        cost = self.cost(order)
        return cost.reservation(queries, self.answers_given(cost, answered=answered)) * AMOUNT_UNIT

    def answers_given(self, cost: WorstCase, *, answered: bool) -> int:
        """Return the number of answers to one query: all, or none if a check in `cost` withholds them."""
        return 0 if cost.check > 0 and not answered else self.answers


def fits(cost: WorstCase, answers: int, available: int) -> int | None:
    """Return the largest batch whose worst cost fits `available` ledger amounts, with `answers` per query.

    None if a batch costs the same whatever its size, and is affordable.
    """
    first = cost.reservation(1, answers)
    if first > available:
        return 0
    each = cost.reservation(2, answers) - first
    return 1 + (available - first) // each if each else None


def propose_order(
    candidate: Candidate, epsilon: float, delta: float, among: Sequence[float] = (*ORDERS, GAUSSIAN)
) -> float:
    """Return the order at which a budget pays for the most answered queries of `candidate`, or `GAUSSIAN`.

    Raises `budget.too_small` if no order leaves anything to spend, and ValueError for an epsilon that is not
    positive or a delta outside (0, 1).
    """
    paid = {order: _count_paid(candidate, epsilon, delta, order) for order in among}
    best = max(among, key=lambda order: paid[order])
    if paid[best] <= 0:
        raise OstrakaError(
            ErrorCode.BUDGET_TOO_SMALL,
            f"A budget of epsilon {epsilon} at delta {delta} pays for no query at any order; "
            "set a larger epsilon or a larger delta.",
        )
    return best


def _count_paid(candidate: Candidate, epsilon: float, delta: float, order: float) -> float:
    """Return how many answered queries a budget of this order pays for, including fractions.

    For a Gaussian filter less than one query counts as none, because it adds up something for any epsilon.
    """
    if order == GAUSSIAN and not candidate.mechanism.has_gaussian_cost(candidate.classes):
        return 0.0
    paid = budget_rdp(epsilon, delta, order) / _each(candidate, order)
    return 0.0 if order == GAUSSIAN and paid < 1 else paid


def _each(candidate: Candidate, order: float) -> float:
    """Return the cost of one more answered query; the batch's own cost if that is 0."""
    cost = candidate.cost(order)
    return cost.check + min(candidate.answers * cost.answer, cost.most) or cost.batch


POINTS = 60
"""Number of points of a curve."""


@dataclass(frozen=True)
class Curve:
    """One line of a plot.

    Attributes:
        name: the text in the legend.
        queries: numbers of queries, ascending.
        epsilon: the cost of each number of queries.
        main: whether the plan asks for it; other curves are drawn for comparison.
    """

    name: str
    queries: NDArray[np.int64]
    epsilon: NDArray[np.float64]
    main: bool = True


def queries_up_to(most: int, points: int = POINTS) -> NDArray[np.int64]:
    """Return numbers of queries, evenly spaced from 1 to `most`, as points of a curve."""
    return np.unique(np.linspace(1, most, min(most, points)).astype(np.int64))


def worst_case_curve(
    name: str,
    candidate: Candidate,
    order: float,
    delta: float,
    queries: NDArray[np.int64],
    *,
    answered: bool = True,
    main: bool = True,
) -> Curve:
    """Return the worst case of one batch for each number of `queries`, at the `order` of a budget."""
    costs = [candidate.rdp(order, count, answered=answered) for count in queries.tolist()]
    return Curve(name, queries, epsilons(np.array(costs), order, delta), main)


def epsilons(rdp: NDArray[np.float64], order: float, delta: float) -> NDArray[np.float64]:
    """Return the epsilon of each rdp at `order`."""
    return np.array([epsilon(cost, order, delta) for cost in rdp.tolist()])
