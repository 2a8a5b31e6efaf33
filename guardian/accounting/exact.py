"""The divergence itself: the largest over all histograms that one vote moved leads to, in both directions.

Unlike theorem6 it bounds D(M(D) || M(D')) and D(M(D') || M(D)) for every neighbour D' of the votes D that
were cast. docs/accounting.md derives it. Where a `lattice` is given, what numerics and the lattice may hide
is added, so that it is an upper bound for what is released; infinite where nothing can be said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from guardian.accounting.checks import Floats
from guardian.accounting.moments import largest_rdp
from guardian.accounting.outcomes import grid
from guardian.accounting.parts import Part, argmax_part, check_part

MOST_CLASSES = 128
"""More classes are charged the worst case: neighbours times outcomes grow with their cube."""

_BLOCK = 2**18


def gnmax_exact(votes: Floats, sigma: float, orders: Floats, moved: float, lattice: float) -> Floats:
    """Return the rdp (Q, R) of GNMax for a vote of weight `moved`, at most 1, that goes to another class."""
    return _exact(votes, sigma, moved, orders, lambda rows: [argmax_part(rows, sigma, moved, lattice)])


def threshold_exact(
    votes: Floats, threshold: float, sigma: float, orders: Floats, moved: float, lattice: float
) -> Floats:
    """Return the rdp (Q, R) of the check alone."""
    return _exact(
        votes, sigma, moved, orders, lambda rows: [check_part(rows, threshold, sigma, moved, lattice)]
    )


def confident_exact(
    votes: Floats,
    threshold: float,
    sigmas: tuple[float, float],
    orders: Floats,
    moved: float,
    lattice: float,
) -> Floats:
    """Return the rdp (Q, R) of answered queries: check and argmax together, for one neighbour."""
    return _exact(
        votes,
        sigmas[1],
        moved,
        orders,
        lambda rows: [
            check_part(rows, threshold, sigmas[0], moved, lattice),
            argmax_part(rows, sigmas[1], moved, lattice),
        ],
    )


def _exact(
    votes: Floats, sigma: float, moved: float, orders: Floats, parts: Callable[[Floats], Sequence[Part]]
) -> Floats:
    rdp = np.full((len(votes), len(orders)), np.inf)
    if moved > 1 or votes.shape[1] > MOST_CLASSES:
        return rdp
    for rows in _blocks(votes, sigma, moved):
        released = parts(votes[rows])
        largest = largest_rdp([part.shifts for part in released], neighbours(votes[rows], moved), orders)
        error = np.sum([part.error for part in released], axis=0)
        rdp[rows] = np.nan_to_num(largest, nan=np.inf) + error[:, None] * (4 * orders / (orders - 1))
    return rdp


def neighbours(votes: Floats, moved: float) -> NDArray[np.bool_]:
    """Return which moves (Q, a, b) to try: a has the votes, and no earlier pair has the same counts."""
    a, b = votes[:, :, None], votes[:, None, :]
    same = a == b
    earlier = np.tril(same, -1).sum(axis=2)
    first = (earlier[:, :, None] == 0) & np.where(same, earlier[:, None, :] == 1, earlier[:, None, :] == 0)
    return np.asarray((a >= moved) & first, dtype=np.bool_)


def _blocks(votes: Floats, sigma: float, moved: float) -> Iterator[NDArray[np.intp]]:
    """Yield rows that lie about as far apart and fit together into a fixed amount of memory."""
    classes = votes.shape[1]
    spread = np.ptp(votes, axis=1) / sigma
    order = np.argsort(spread, kind="stable")
    while order.size:
        size = max(1, _BLOCK // (classes * max(classes**2, 100)))
        widest = grid(float(spread[order[:size]].max()), classes, moved / sigma)
        size = max(1, min(size, _BLOCK // (classes * len(widest))))
        yield order[:size]
        order = order[size:]
