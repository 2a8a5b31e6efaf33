"""One level of parents that imply absence alone, as in Table 4 of Dziedzic et al. 2023."""

from collections.abc import Sequence

import numpy as np

from ostraka.client.dependencies.learn import Floats


def choose_parents(gains: Floats) -> dict[int, int]:
    """Choose the parent of each child, so that all gains (k, k) together are large.

    Parents are added one by one, each time the one that gains most, for as long as any gains: it takes in the
    children that it serves better than their parent, and is a child no more itself.
    """
    parents: list[int] = []
    best = 0.0
    while True:
        added = [
            _total(gains, [*parents, label]) if label not in parents else 0.0 for label in range(len(gains))
        ]
        most = int(np.argmax(added))
        if added[most] <= best:
            return _assign(gains, parents)
        parents.append(most)
        best = added[most]


def _total(gains: Floats, parents: Sequence[int]) -> float:
    """Return what all children together gain by these parents."""
    served = gains[list(parents)].max(axis=0)
    served[list(parents)] = 0.0
    return float(served.sum())


def _assign(gains: Floats, parents: Sequence[int]) -> dict[int, int]:
    """Return the parent that each child gains most by, for every label that gains and is no parent."""
    children = [label for label in range(len(gains)) if label not in parents]
    if not parents:
        return {}
    best = {child: max(parents, key=lambda parent: float(gains[parent, child])) for child in children}
    return {child: parent for child, parent in best.items() if gains[parent, child] > 0}
