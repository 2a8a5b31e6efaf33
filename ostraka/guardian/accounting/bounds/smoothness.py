"""Whether the changes of a term are certain to be smooth, checked over its whole grid.

docs/accounting-smooth.md says what follows from it.
"""

from __future__ import annotations

from itertools import islice, pairwise

import numpy as np
from scipy.ndimage import minimum_filter1d

from ostraka.guardian.accounting.bounds.vote_terms import CELLS, Term, Whole


def certified(term: Term, distances: int) -> bool:
    """Return whether what is kept of a term is smooth at 0, 1, ... `distances` - 1 votes away and beyond.

    Neighbours' numbers lie within `CELLS` of each other, arithmetic included; the costs that hold each cell
    show no rise; for each two cells so close, a cost in one and a cost in the other differ by no more than
    the change of either at 0 votes, the change of one at d votes is at most that of the other at d + 1, and
    none exceeds the limit. All of it in whole amounts. No votes decide what is done or found.
    """
    if not term.countable:
        return False
    least, most = term.costs
    if not (least <= most).all():
        return False
    nearest = next(term.windows())
    return _hold(least, most, nearest) and _smooth(term, distances)


def _hold(least: Whole, most: Whole, changes: Whole) -> bool:
    """Return whether costs of neighbouring cells differ by no more than the changes of both."""
    for apart in range(min(CELLS, len(least) - 1) + 1):
        left, right = slice(None, len(least) - apart), slice(apart, None)
        differ = np.maximum(most[left] - least[right], most[right] - least[left])
        if (differ > np.minimum(changes[left], changes[right])).any():
            return False
    return True


def _smooth(term: Term, distances: int) -> bool:
    """Return whether no cell's change exceeds a neighbour's one vote farther away, or at last the limit."""
    for nearer, farther in pairwise(islice(term.windows(), distances)):
        if (nearer > minimum_filter1d(farther, 2 * CELLS + 1, mode="nearest")).any():
            return False
    return int(farther.max()) * len(term.distances) <= term.limit()
