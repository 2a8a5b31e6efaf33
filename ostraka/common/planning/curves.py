"""Epsilon against the number of queries."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostraka.common.planning.candidate import Candidate
from ostraka.common.privacy import epsilon

POINTS = 60
"""Points of a curve."""


@dataclass(frozen=True)
class Curve:
    """One line of a plot.

    Attributes:
        name: what the legend says.
        queries: numbers of queries, ascending.
        epsilon: what so many cost.
        main: whether it is what the plan asks for; others are drawn for comparison.
    """

    name: str
    queries: NDArray[np.int64]
    epsilon: NDArray[np.float64]
    main: bool = True


def queries_up_to(most: int, points: int = POINTS) -> NDArray[np.int64]:
    """Numbers of queries, evenly spaced from 1 to `most`, to draw a curve through."""
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
    """Return the worst case of one batch of each number of `queries`, at the one `order` of a budget."""
    costs = [candidate.rdp(order, count, answered=answered) for count in queries.tolist()]
    return Curve(name, queries, epsilons(np.array(costs), order, delta), main)


def epsilons(rdp: NDArray[np.float64], order: float, delta: float) -> NDArray[np.float64]:
    """Return the epsilon of each rdp at `order`."""
    return np.array([epsilon(cost, order, delta) for cost in rdp.tolist()])
