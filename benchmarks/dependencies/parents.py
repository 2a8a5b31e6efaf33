"""One level of parents, absence only, as in Table 4 of Dziedzic et al. 2023."""

from collections.abc import Sequence

import numpy as np

from ostraka.client.dependencies.learn import Floats


def choose_parents(gains: Floats) -> dict[int, int]:
    """Choose the parent of each child, for a large total of gains (k, k).

    Greedy: parents are added one by one, the one with the largest gain first, while any gains. A new parent
    takes the children that gain more with it, and is no longer a child itself.
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
    """Return the total gain of all children with these parents."""
    served = gains[list(parents)].max(axis=0)
    served[list(parents)] = 0.0
    return float(served.sum())


def _assign(gains: Floats, parents: Sequence[int]) -> dict[int, int]:
    """Return the parent with the largest gain of each child, for every label that gains and is not a
    parent."""
    children = [label for label in range(len(gains)) if label not in parents]
    if not parents:
        return {}
    best = {child: max(parents, key=lambda parent: float(gains[parent, child])) for child in children}
    return {child: parent for child, parent in best.items() if gains[parent, child] > 0}
