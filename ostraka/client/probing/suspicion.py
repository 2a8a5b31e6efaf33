"""Which parties' groups agree less with known labels than the groups without them."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
LEVEL = 0.01
"""Chance that any party is told low although all vote alike."""
DOUBTFUL = 0.1
"""A party with a smaller p, by itself, may be to blame for what its groups answer."""


def p_values(agreed: Ints, asked: Ints, members: Bools) -> Floats:
    """Return for each party how likely its groups were to agree so little if it voted like the others.

    Each of its groups is compared with all groups without it by Fisher's exact test, one-sided, and the
    largest p counts: a party that was once in a group that agrees well is not to blame for the others.

    Args:
        agreed: answers of each group that agree with the known labels, (..., G).
        asked: records that each group was asked, (..., G).
        members: which parties are in a group, (G, P); every party is in one at least.

    Returns:
        The largest p of each party, (..., P); 1 where nothing can be compared.
    """
    parties, groups = np.nonzero(members.T)
    right, total = ((counts @ ~members)[..., parties] for counts in (agreed, asked))
    own, of = agreed[..., groups], asked[..., groups]
    p = np.nan_to_num(hypergeom.cdf(own, of + total, own + right, of), nan=1.0)
    first = np.flatnonzero(np.diff(parties, prepend=-1))
    found: Floats = np.maximum.reduceat(p, first, axis=-1)
    return found


def holm(p: Floats) -> Floats:
    """Return p-values (..., P) adjusted by Holm's method for as many tests as there are."""
    order = p.argsort(axis=-1)
    factors = np.arange(p.shape[-1], 0, -1)
    adjusted = np.maximum.accumulate(np.take_along_axis(p, order, axis=-1) * factors, axis=-1)
    back = np.empty_like(p)
    np.put_along_axis(back, order, np.minimum(adjusted, 1.0), axis=-1)
    return back


def low(p: Floats) -> Bools:
    """Return which parties' groups agree less than the others; all errors together stay below `LEVEL`."""
    found: Bools = holm(p) < LEVEL
    return found


def to_blame(p: Floats, members: Bools) -> Bools:
    """Return which low parties were in a group with nobody else who may be to blame for it.

    Bad parties may surround one that votes well, and its groups are low by them. These are the "definite
    defectives" of group testing (Aldridge, Baldassini and Johnson 2014).

    Args:
        p: as `p_values` returns them, (..., P).
        members: which parties are in a group, (G, P).
    """
    groups = members.astype(np.int64)
    alone = (p < DOUBTFUL) @ groups.T == 1
    found: Bools = low(p) & (alone @ groups > 0)
    return found
