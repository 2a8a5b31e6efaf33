"""The divergence itself: the largest over all histograms that one vote moved leads to, in both directions.

A vote may leave any class, also one that shows none: a querying party can have shifted the sums.

Unlike theorem6 it bounds D(M(D) || M(D')) and D(M(D') || M(D)) for every neighbour D' of the votes D that
were cast. docs/accounting.md derives it. Where a `lattice` is given, what numerics and the lattice may hide
is added, so that it is an upper bound for what is released; infinite where nothing can be said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from guardian.accounting.by_outcome import Charges
from guardian.accounting.checks import Floats
from guardian.accounting.joint import added, joint_charges
from guardian.accounting.moments import largest_rdp
from guardian.accounting.outcomes import FARTHEST, grid
from guardian.accounting.parts import Part, argmax_part, check_part

MOST_CLASSES = 128
"""More classes are charged the worst case: neighbours times outcomes grow with their cube."""

_BLOCK = 2**18


def gnmax_exact(votes: Floats, sigma: float, orders: Floats, moved: float, lattice: float) -> Floats:
    """Return the rdp (Q, R) of GNMax for a vote of weight `moved`, at most 1, that goes to another class."""
    return _exact(votes, sigma, moved, orders, lambda rows: argmax_part(rows, sigma, moved, lattice))


def threshold_exact(
    votes: Floats, threshold: float, sigma: float, orders: Floats, moved: float, lattice: float
) -> Floats:
    """Return the rdp (Q, R) of the check alone."""
    return _exact(
        votes, sigma, moved, orders, lambda rows: check_part(rows, threshold, sigma, moved, lattice)
    )


def confident_exact(
    votes: Floats,
    threshold: float,
    sigmas: tuple[float, float],
    orders: Floats,
    moved: float,
    lattice: float,
    most: Charges,
) -> Charges:
    """Return charges for Confident by its check's outcome: one neighbour moves in check and argmax alike.

    `most` holds for every histogram: no charge exceeds it, and it is charged where nothing else is proved.
    """
    charges = Charges(most.failed.copy(), most.passed.copy())
    if _out_of_reach(votes, moved):
        return charges
    for rows in blocks(votes, sigmas[1], moved):
        check = check_part(votes[rows], threshold, sigmas[0], moved, lattice)
        argmax = argmax_part(votes[rows], sigmas[1], moved, lattice)
        room = Charges(most.failed[rows], most.passed[rows])
        found = joint_charges(check, argmax, neighbours(votes[rows]), orders, room)
        charges.failed[rows], charges.passed[rows] = found.failed, found.passed
    return charges


def _exact(
    votes: Floats, sigma: float, moved: float, orders: Floats, part: Callable[[Floats], Part]
) -> Floats:
    rdp = np.full((len(votes), len(orders)), np.inf)
    if _out_of_reach(votes, moved):
        return rdp
    for rows in blocks(votes, sigma, moved):
        released = part(votes[rows])
        largest = largest_rdp(released.shifts, neighbours(votes[rows]), orders)
        rdp[rows] = np.nan_to_num(largest, nan=np.inf) + added(released.error, orders)
    return rdp


def _out_of_reach(votes: Floats, moved: float) -> bool:
    return moved > 1 or votes.shape[1] > MOST_CLASSES


def neighbours(votes: Floats) -> NDArray[np.bool_]:
    """Return which moves (Q, a, b) to try: of those between the same two counts the first."""
    a, b = votes[:, :, None], votes[:, None, :]
    same = a == b
    earlier = np.tril(same, -1).sum(axis=2)
    first = (earlier[:, :, None] == 0) & np.where(same, earlier[:, None, :] == 1, earlier[:, None, :] == 0)
    return np.asarray(first, dtype=np.bool_)


def blocks(votes: Floats, sigma: float, moved: float) -> Iterator[NDArray[np.intp]]:
    """Yield rows that lie about as far apart and fit together into a fixed amount of memory."""
    classes = votes.shape[1]
    spread = np.ptp(votes, axis=1) / sigma
    order = np.argsort(spread, kind="stable")[: np.count_nonzero(spread <= FARTHEST)]
    while order.size:
        size = max(1, _BLOCK // (classes * max(classes**2, 100)))
        widest = grid(float(spread[order[:size]].max()), classes, moved / sigma)
        size = max(1, min(size, _BLOCK // (classes * len(widest))))
        yield order[:size]
        order = order[size:]
